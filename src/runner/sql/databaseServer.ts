import { addAbortListener } from "node:events";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import type { ConnectionOptions } from "node:tls";
import { describeError } from "../../contract/errors.ts";
import type { ServerAddress } from "../../pipeline/types/databaseUrl.ts";
import { codeOf, isMissing } from "../../project/systemErrors.ts";
import { describeNetworkProblem, type Peer } from "../step/network.ts";
import { StepFault } from "../step/stepContext.ts";

export interface DatabaseServer extends Peer {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Empty for none. */
  readonly database: string;
  /** False for a connection without TLS. */
  readonly tls: false | ConnectionOptions;
  /** Whether to connect without TLS if the server has none. */
  readonly isTlsOptional: boolean;
}

/**
 * Completes an address with its defaults: the user is this machine's, and paths are relative to the project's folder.
 *
 * @param ownName the name of this machine's user.
 * @throws StepFault
 */
export async function databaseServer(
  address: ServerAddress,
  root: string,
  ownName = () => userInfo().username,
): Promise<DatabaseServer> {
  const { database, host, parameters, password } = address;
  const port = Number(address.port);
  if (!/^\d+$/.test(address.port) || port < 1 || port > 65_535) {
    throw new StepFault("the port of a database's address is a number from 1 to 65535");
  }
  return {
    hostname: host,
    host: isSocket(host) ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    user: address.user || nameOf(ownName),
    password,
    database,
    tls: isSocket(host) ? false : await tlsOf(parameters, root),
    isTlsOptional: ["allow", "prefer"].includes(parameters.sslmode ?? ""),
  };
}

/** A container may run programs under a user id that has no name. */
function nameOf(ownName: () => string): string {
  try {
    return ownName();
  } catch {
    throw new StepFault(
      "the database's address has no user, and this machine has no name for the one who runs this; write one before the host: `ada@`",
    );
  }
}

/** Whether a host of an address is the path of a socket, or of its folder. */
export function isSocket(host: string): boolean {
  return host.startsWith("/");
}

/** What each `sslmode` checks: postgresql.org/docs/current/libpq-ssl.html. Without one there is no TLS. */
async function tlsOf(
  { sslcert, sslkey, sslmode, sslrootcert }: ServerAddress["parameters"],
  root: string,
): Promise<false | ConnectionOptions> {
  // libpq's word for the authorities that the machine trusts.
  const authorities = sslrootcert === "system" ? undefined : sslrootcert;
  const mode = sslmode ?? (sslrootcert || sslcert || sslkey ? "verify-full" : "disable");
  const read = (path: string) => readCertificate(path, root);
  const files = {
    ...(authorities ? { ca: await read(authorities) } : {}),
    ...(sslcert ? { cert: await read(sslcert) } : {}),
    ...(sslkey ? { key: await read(sslkey) } : {}),
  };
  const anyHost = { checkServerIdentity: () => undefined };
  switch (mode) {
    case "disable":
      return false;
    case "allow":
    case "prefer":
    case "require":
      return sslrootcert ? { ...files, ...anyHost } : { ...files, rejectUnauthorized: false };
    case "verify-ca":
      return { ...files, ...anyHost };
    case "verify-full":
      return files;
    default:
      throw new StepFault("`sslmode` is one of disable, allow, prefer, require, verify-ca, verify-full");
  }
}

async function readCertificate(path: string, root: string): Promise<string> {
  try {
    return await readFile(resolve(root, path), "utf8");
  } catch (error) {
    throw new StepFault(
      isMissing(error) ? `there is no file ${path}` : `${path} can't be read (${codeOf(error)})`,
    );
  }
}

/**
 * Opens a session on a server; without TLS if the server has none and the address allows that.
 * @param describe why there is no connection, in a sentence.
 * @throws StepFault
 */
export async function openOn<Session>(
  server: DatabaseServer,
  open: (server: DatabaseServer) => Promise<Session>,
  describe: (server: DatabaseServer, error: unknown) => string,
): Promise<Session> {
  try {
    return await open(server);
  } catch (error) {
    if (error instanceof StepFault) throw error;
    if (server.isTlsOptional && isWithoutTls(error))
      return openOn({ ...server, tls: false, isTlsOptional: false }, open, describe);
    throw new StepFault(describe(server, error));
  }
}

/** Closes a connection when the signal is aborted before the work is over. @throws what the work throws; the signal's reason. */
export async function whileWanted<T>(
  socket: Socket,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  using _ = addAbortListener(signal, () => void socket.destroy());
  const done = await work();
  signal.throwIfAborted();
  return done;
}

/** Whether a library's error says that the server has refused a connection because it has no TLS. */
export function isWithoutTls(error: unknown): boolean {
  return codeOf(error) === "HANDSHAKE_NO_SSL_SUPPORT" || /does not support SSL/.test(describeError(error));
}

/** Whether an error of the system or a library says that a connection is gone. */
export function isLoss(error: unknown): boolean {
  return (
    ["ECONNRESET", "EPIPE", "PROTOCOL_CONNECTION_LOST"].includes(codeOf(error) ?? "") ||
    /^Connection terminated|not queryable|in closed state$/.test(describeError(error))
  );
}

/** Why a server can't be reached, in a sentence. @returns undefined for what each kind of server words itself. */
export function describeReachProblem(server: DatabaseServer, error: unknown): string | undefined {
  const code = codeOf(error);
  return code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER"
    ? `${server.host} and this program don't agree on TLS: ${describeError(error)}`
    : describeNetworkProblem(server, code);
}
