import { type DatabaseServer, describeReachProblem, detailsOf, isLoss } from "./databaseServer.ts";
import { severalStatements } from "./sqlConnection.ts";

/** Why there is no connection, in a sentence. */
export function describeConnectionProblem(server: DatabaseServer, error: unknown): string {
  const details = detailsOf(error);
  const { code, message } = details;
  const { database, host, user, password } = server;
  const problem = describeReachProblem(server, details);
  if (problem !== undefined) return problem;
  switch (errnoOf(error) ?? code) {
    case "ENOENT":
      return `nothing listens at ${host}`;
    case errors.accessDenied:
    case errors.accessDeniedWithoutPassword: {
      const cause = password === "" ? "the address has no password" : "the password is wrong";
      const withoutTls = server.tls ? "" : " or without TLS (`ssl-mode`)";
      return `${host} refuses the user ${user}: ${cause}, or the user may not connect from here${withoutTls}`;
    }
    case errors.databaseDenied:
      return `${host} refuses the user ${user} the database ${database}`;
    case errors.noDatabase:
      return `${host} has no database ${database}`;
    case errors.tooManyConnections:
    case errors.tooManyConnectionsOfUser:
    case errors.tooManyUses:
      return `${host} has too many connections already (${message})`;
    case errors.onlyWithTls:
      return `${host} takes connections with TLS only; put \`ssl-mode\` into the address`;
    case "HANDSHAKE_NO_SSL_SUPPORT":
      return `${host} doesn't do TLS, which \`ssl-mode\` asks for`;
    case "HANDSHAKE_SSL_ERROR":
      return `${host} and this program don't agree on TLS: ${message}`;
  }
  if (isLoss(details)) return `${host} closed the connection; is it a MySQL server?`;
  return `${host} can't be used: ${message}`;
}

/** The server's own numbers: dev.mysql.com/doc/mysql-errors/en/server-error-reference.html. Its library's names for them aren't bundled. */
const errors = {
  tooManyConnections: 1040,
  databaseDenied: 1044,
  accessDenied: 1045,
  noDatabase: 1049,
  shutdown: 1053,
  syntax: 1064,
  tooManyConnectionsOfUser: 1203,
  deadlock: 1213,
  tooManyUses: 1226,
  notPreparable: 1295,
  accessDeniedWithoutPassword: 1698,
  killed: 1927,
  onlyWithTls: 3159,
};

/** Whether a server has undone the whole transaction with a statement of it. */
export function isUndone(error: unknown): boolean {
  return errnoOf(error) === errors.deadlock;
}

function errnoOf(error: unknown): number | undefined {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && error.errno > 0
    ? error.errno
    : undefined;
}

/** Whether a server refuses to prepare a statement, such as `begin` and `create trigger`. Nothing is returned by them. */
export function isNotPreparable(error: unknown): boolean {
  return errnoOf(error) === errors.notPreparable;
}

/**
 * The server's error about a statement; it names the line itself.
 *
 * @param done of a file: how many of its statements were done before.
 */
export function describeStatementError(
  { host }: DatabaseServer,
  error: unknown,
  text: string,
  done?: number,
): string {
  const details = detailsOf(error);
  const { message } = details;
  const errno = errnoOf(error);
  if (isLoss(details)) return `${host} closed the connection before the statement was over`;
  if (errno === errors.shutdown || errno === errors.killed) return `${host} ended the connection: ${message}`;
  if (done !== undefined) {
    const isOfMysql = errno === errors.syntax && /near 'DELIMITER\b/i.test(message);
    return `statement ${done + 1}: ${message}${isOfMysql ? `\nhint: ${onlyMysql}` : ""}`;
  }
  if (errno === errors.syntax && goesOn(text, message)) return severalStatements;
  return /^Unknown column '\$\d|near ':[a-z_]/i.test(message)
    ? `${message}\nhint: a parameter is \`?\` in MySQL`
    : message;
}

const onlyMysql = "`DELIMITER` is for the program mysql alone; leave it out, a procedure needs none here";

/** Whether what the server can't read stands behind the end of a statement. */
function goesOn(text: string, message: string): boolean {
  const [, near = ""] = /near '([\s\S]*)' at line \d+$/.exec(message) ?? [];
  return near !== "" && /;\s*$/.test(text.slice(0, text.indexOf(near)));
}
