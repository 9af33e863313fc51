import type { PostgresAddress } from "../../pipeline/types/databaseUrl.ts";
import { type DatabaseServer, databaseServer, describeReachProblem, detailsOf } from "./databaseServer.ts";
import { severalStatements } from "./sqlConnection.ts";

export interface PostgresServer extends DatabaseServer {
  readonly hasChannelBinding: boolean;
  /** Where names without a schema are looked for, if not where the server says. */
  readonly schema: string | undefined;
  /** Whether its sessions have to be able to write, or have not to; undefined for either. */
  readonly writes: boolean | undefined;
  readonly applicationName: string;
  readonly options: string | undefined;
}

/**
 * Completes an address with its defaults.
 *
 * @throws StepFault
 */
export async function postgresServer(address: PostgresAddress, root: string): Promise<PostgresServer> {
  const { parameters } = address;
  const server = await databaseServer(address, root);
  return {
    ...server,
    database: server.database || server.user,
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

/** Why there is no connection, in a sentence. */
export function describeConnectionProblem(server: PostgresServer, error: unknown): string {
  const details = detailsOf(error);
  const { code, message } = details;
  const { database, host, user } = server;
  const problem = describeReachProblem(server, details);
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

/** What of a file is no statement, as `pg_dump` writes it. */
const ofPsql = /^(?:\\\w|copy\b[^;]*\bfrom\s+stdin\b)/im;
const onlyPsql =
  "lines that begin with `\\`, and data behind `copy … from stdin`, are for psql alone; `pg_dump --inserts` writes statements";

/**
 * The server's error about a statement, with detail, hint and position.
 *
 * @param done of a file: how many of its statements were done before.
 */
export function describeStatementError(
  server: PostgresServer,
  error: unknown,
  text: string,
  done?: number,
): string {
  const { code, message, part } = detailsOf(error);
  if (isLoss(code, message)) return `${server.host} closed the connection before the statement was over`;
  if (code?.startsWith("57P")) return `${server.host} ended the connection: ${message}`;
  if (message.endsWith("No source stream defined"))
    return "a step has no data for `copy … from stdin`: insert the rows, or let a program such as `psql` copy them";
  if (code === "42601" && part("routine") === "exec_parse_message") return severalStatements;
  const detail = part("detail");
  // A list where the statement wants no array was sent as JSON.
  const isList = code === "22P02" && /"\[.*\]"$/s.test(message);
  const isOfPsql = done !== undefined && code === "42601" && ofPsql.test(text);
  const hint =
    part("hint") ??
    (isList ? "`= any($1)` takes a list, `in ($1)` one value" : undefined) ??
    (isOfPsql ? onlyPsql : undefined);
  const place = placeIn(text, Number(part("position")));
  const where = place && ` (${place} of the ${done === undefined ? "statement" : "file"})`;
  return [
    `${place || done === undefined ? "" : `statement ${done + 1}: `}${message}${where}`,
    ...(detail === undefined ? [] : [detail]),
    ...(hint === undefined ? [] : [`hint: ${hint}`]),
  ].join("\n");
}

/** @param position in characters, from 1; NaN when the server gives none. */
function placeIn(text: string, position: number): string {
  if (!Number.isInteger(position)) return "";
  const before = [...text].slice(0, position - 1).join("");
  const line = before.split("\n").length;
  return `line ${line}, column ${before.length - before.lastIndexOf("\n")}`;
}

function isLoss(code: string | undefined, message: string): boolean {
  return code === "ECONNRESET" || code === "EPIPE" || /^Connection terminated|not queryable/.test(message);
}
