import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import type { ConnectionOptions } from "node:tls";
import type { PostgresAddress } from "../../../../pipeline/types/databaseUrl.ts";
import type { Peer } from "../../networkProblem.ts";
import { NoConnection } from "../sqlConnection.ts";

/** A PostgreSQL server and who wants to use which of its databases. */
export interface PostgresServer extends Peer {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** False for a connection without TLS. */
  readonly tls: false | ConnectionOptions;
  readonly applicationName: string;
  readonly options: string | undefined;
}

/**
 * Settles an address, its values filled in, against the project's folder and the machine's user.
 *
 * @throws NoConnection
 */
export async function postgresServer(address: PostgresAddress, root: string): Promise<PostgresServer> {
  const { parameters } = address;
  const port = Number(address.port);
  if (!/^\d+$/.test(address.port) || port < 1 || port > 65_535) {
    throw new NoConnection("the port of a database's address is a number from 1 to 65535");
  }
  const user = address.user || userInfo().username;
  const isSocket = address.host.startsWith("/");
  return {
    hostname: address.host,
    host: isSocket ? address.host : `${bracketed(address.host)}:${port}`,
    port,
    user,
    password: address.password,
    database: address.database || user,
    tls: isSocket ? false : await tlsOf(parameters, root),
    applicationName: parameters.application_name ?? "pipeline-runs",
    options: parameters.options,
  };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** What each `sslmode` checks: postgresql.org/docs/current/libpq-ssl.html. Without one there is no TLS. */
async function tlsOf(
  { sslcert, sslkey, sslmode, sslrootcert }: PostgresAddress["parameters"],
  root: string,
): Promise<false | ConnectionOptions> {
  const mode = sslmode ?? (sslrootcert || sslcert || sslkey ? "verify-full" : "disable");
  const read = (path: string) => readCertificate(path, root);
  const files = {
    ...(sslrootcert ? { ca: await read(sslrootcert) } : {}),
    ...(sslcert ? { cert: await read(sslcert) } : {}),
    ...(sslkey ? { key: await read(sslkey) } : {}),
  };
  const anyHost = { checkServerIdentity: () => undefined };
  switch (mode) {
    case "disable":
      return false;
    case "require":
      return sslrootcert ? { ...files, ...anyHost } : { ...files, rejectUnauthorized: false };
    case "verify-ca":
      return { ...files, ...anyHost };
    case "verify-full":
      return files;
    default:
      throw new NoConnection("`sslmode` is one of disable, require, verify-ca, verify-full");
  }
}

async function readCertificate(path: string, root: string): Promise<string> {
  try {
    return await readFile(resolve(root, path), "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    throw new NoConnection(
      code === "ENOENT" ? `there is no file ${path}` : `${path} can't be read (${String(code)})`,
    );
  }
}
