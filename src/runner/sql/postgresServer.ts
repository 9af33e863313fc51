import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import type { ConnectionOptions } from "node:tls";
import type { PostgresAddress } from "../../pipeline/types/databaseUrl.ts";
import { describeNetworkProblem, type Peer } from "../step/networkProblem.ts";
import { NoConnection, severalStatements } from "./sqlConnection.ts";

/** A PostgreSQL server with user and database. */
export interface PostgresServer extends Peer {
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** False for a connection without TLS. */
  readonly tls: false | ConnectionOptions;
  /** Whether it may do without TLS if it has none. */
  readonly isTlsOptional: boolean;
  readonly hasChannelBinding: boolean;
  /** Where names without a schema are looked for, if not where the server says. */
  readonly schema: string | undefined;
  /** Whether its sessions have to be able to write, or have not to; undefined for either. */
  readonly writes: boolean | undefined;
  readonly applicationName: string;
  readonly options: string | undefined;
}

/**
 * Completes an address with its defaults: the user is this machine's, and paths are relative to the project's folder.
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
    isTlsOptional: ["allow", "prefer"].includes(parameters.sslmode ?? ""),
    hasChannelBinding: ["prefer", "require"].includes(parameters.channel_binding ?? ""),
    schema: parameters.schema,
    writes: writing[parameters.target_session_attrs ?? ""],
    applicationName: parameters.application_name ?? "pipeline-runs",
    options: parameters.options,
  };
}

const writing: Readonly<Record<string, boolean>> = {
  "read-write": true,
  primary: true,
  "read-only": false,
  standby: false,
};

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
    case "allow":
    case "prefer":
    case "require":
      return sslrootcert ? { ...files, ...anyHost } : { ...files, rejectUnauthorized: false };
    case "verify-ca":
      return { ...files, ...anyHost };
    case "verify-full":
      return files;
    default:
      throw new NoConnection("`sslmode` is one of disable, allow, prefer, require, verify-ca, verify-full");
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

/** The parts of an error of the server or its library. */
interface ErrorDetails {
  readonly message: string;
  /** Five characters from the server (postgresql.org/docs/current/errcodes-appendix.html), or a system's error. */
  readonly code: string | undefined;
  readonly part: (name: string) => string | undefined;
}

/** Why there is no connection, in a sentence. */
export function describeConnectionProblem(server: PostgresServer, error: unknown): string {
  const { code, message } = detailsOf(error);
  const { database, host, user } = server;
  const problem = describeNetworkProblem(server, code);
  if (problem !== undefined) return problem;
  switch (code) {
    case "ENOENT":
      return `nothing listens at ${host}/.s.PGSQL.${server.port}`;
    case "28P01":
      return `${host} refuses the user ${user}: the password is wrong`;
    case "28000":
      return `${host} refuses the user ${user}: ${message}${server.tls ? "" : "; if it wants TLS, put `sslmode` into the address"}`;
    case "3D000":
      return `${host} has no database ${database}`;
    case "53300":
      return `${host} has too many connections already (${message})`;
    case "57P03":
      return `${host} takes no connections at the moment: ${message}`;
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return `${host} and this program don't agree on TLS: ${message}`;
  }
  if (/password must be a(?: non-empty)? string/.test(message)) {
    return `${host} asks for a password of the user ${user}, and the address has none`;
  }
  if (isWithoutTls(error)) return `${host} doesn't do TLS, which \`sslmode\` asks for`;
  if (isLoss(code, message) || /establishing an SSL connection/.test(message)) {
    return `${host} closed the connection; is it a PostgreSQL server?`;
  }
  return `${host} can't be used: ${message}${code === undefined ? "" : ` (${code})`}`;
}

/** Whether a server has refused a connection since it has no TLS. */
export function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && /does not support SSL/.test(error.message);
}

/** The server's error about a statement, with detail, hint and position. */
export function describeStatementError(server: PostgresServer, error: unknown, text: string): string {
  const { code, message, part } = detailsOf(error);
  if (isLoss(code, message)) return `${server.host} closed the connection before the statement was over`;
  if (code?.startsWith("57P")) return `${server.host} ended the connection: ${message}`;
  if (code === "42601" && part("routine") === "exec_parse_message") return severalStatements;
  const detail = part("detail");
  const hint = part("hint");
  return [
    `${message}${positionIn(text, Number(part("position")))}`,
    ...(detail === undefined ? [] : [detail]),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
  ].join("\n");
}

/** @param position in characters, from 1; NaN when the server gives none. */
function positionIn(text: string, position: number): string {
  if (!Number.isInteger(position)) return "";
  const before = [...text].slice(0, position - 1).join("");
  const line = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return ` (line ${line}, column ${column} of the statement)`;
}

function isLoss(code: string | undefined, message: string): boolean {
  return code === "ECONNRESET" || code === "EPIPE" || /^Connection terminated|not queryable/.test(message);
}

function detailsOf(error: unknown): ErrorDetails {
  if (!(error instanceof Error)) return { message: String(error), code: undefined, part: () => undefined };
  const parts = new Map(Object.entries(error));
  const part = (name: string) => {
    const value: unknown = parts.get(name);
    return typeof value === "string" ? value : undefined;
  };
  return { message: error.message, code: part("code"), part };
}
