import mysql, { type ExecuteValues, type FieldPacket } from "mysql2";
import { describeError } from "../../contract/errors.ts";
import { writeJson } from "../../pipeline/expression/value.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { type DatabaseServer, describeReachProblem, isLoss } from "./databaseServer.ts";
import { exactNumber, parseExactly } from "./rows.ts";
import { severalStatements } from "./sqlWork.ts";

/**
 * A column's value for JSON. JSON, and numbers that JSON can hold exactly, keep their type; a blob is `\x` and its hex digits, and
 * everything else text, as MySQL writes it.
 *
 * @param value as the library gives it when dates, decimals and JSON are to be texts.
 */
export function mysqlToJson(value: unknown, column: FieldPacket | undefined): unknown {
  const type = column?.columnType;
  if (value instanceof Uint8Array) {
    const digits = Buffer.from(value).toString("hex");
    return type === bit ? exactNumber(String(BigInt(`0x${digits}`))) : `\\x${digits}`;
  }
  if (typeof value === "number") return type === float ? shortest(value) : value;
  if (typeof value !== "string") return value;
  if (type === decimal || type === newDecimal) return exactNumber(value);
  if (type === dateTime || type === time || type === timestamp)
    return withFraction(value, column?.decimals ?? 0);
  // MariaDB has no type of its own for JSON, but names the format.
  return type === json || column?.extendedFormat === "json" ? jsonOrText(value) : value;
}

/** MariaDB can be told not to check JSON, so it may be invalid. */
function jsonOrText(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** A time with as many digits of a second as its column has; a server leaves zeros out. */
function withFraction(time: string, digits: number): string {
  const [whole, fraction = ""] = time.split(".");
  return digits >= 1 && digits <= 6 ? `${whole}.${fraction.padEnd(digits, "0").slice(0, digits)}` : time;
}

/** The shortest number that is the same in 32 bits. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const number = Number(value.toPrecision(digits));
    if (Math.fround(number) === value) return number;
  }
  return Number(value.toPrecision(9));
}

/** A value of `params` for MySQL: lists and maps are JSON. */
export function jsonToMysql(value: unknown): ExecuteValues {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isSafeInteger(value) ? wholeNumber(BigInt(value)) : value;
    case "bigint":
      return wholeNumber(value);
    default:
      return value === null ? null : writeJson(value);
  }
}

/** The library would send a number as a float, which `limit` doesn't take. */
function wholeNumber(value: bigint): ExecuteValues {
  const { LONGLONG: longLong } = mysql.TypedParameter;
  if (BigInt.asIntN(64, value) === value) return longLong(value);
  return BigInt.asUintN(64, value) === value ? longLong.unsigned(value) : String(value);
}

const { BIT: bit, DECIMAL: decimal, FLOAT: float, JSON: json, NEWDECIMAL: newDecimal } = mysql.Types;
const { DATETIME: dateTime, TIME: time, TIMESTAMP: timestamp } = mysql.Types;

/** Why there is no connection, in a sentence. */
export function describeConnectionProblem(server: DatabaseServer, error: unknown): string {
  const { database, host, user, password } = server;
  const message = describeError(error);
  const problem = describeReachProblem(server, error);
  if (problem !== undefined) return problem;
  switch (errnoOf(error) ?? codeOf(error)) {
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
  if (isLoss(error)) return `${host} closed the connection; is it a MySQL server?`;
  return `${host} can't be used: ${message}`;
}

/** The server's error numbers: dev.mysql.com/doc/mysql-errors/en/server-error-reference.html. Its names aren't bundled. */
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

/** Whether a server has undone the whole transaction because one of its statements failed. */
export function isUndone(error: unknown): boolean {
  return errnoOf(error) === errors.deadlock;
}

function errnoOf(error: unknown): number | undefined {
  return error instanceof Error && "errno" in error && typeof error.errno === "number" && error.errno > 0
    ? error.errno
    : undefined;
}

/** Whether a server can't prepare such a statement, for example `begin` or `create trigger`. These return no rows. */
export function isNotPreparable(error: unknown): boolean {
  return errnoOf(error) === errors.notPreparable;
}

/** Why a session ended. @param error what the library reported; undefined for nothing. */
export function describeEnd({ host }: DatabaseServer, error: unknown): string {
  return error === undefined || isLoss(error)
    ? `${host} closed the connection`
    : `${host} ended the connection: ${describeError(error)}`;
}

/**
 * The server's error about a statement; it names the line itself.
 *
 * @param done of a file: how many of its statements were done before.
 */
export function describeStatementError(
  server: DatabaseServer,
  error: unknown,
  text: string,
  done?: number,
): string {
  const message = describeError(error);
  const errno = errnoOf(error);
  if (isLoss(error)) return `${server.host} closed the connection before the statement was over`;
  if (errno === errors.shutdown || errno === errors.killed) return describeEnd(server, error);
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

/** Whether what the server can't parse comes after the end of a statement. */
function goesOn(text: string, message: string): boolean {
  const [, near = ""] = /near '([\s\S]*)' at line \d+$/.exec(message) ?? [];
  return near !== "" && /;\s*$/.test(text.slice(0, text.indexOf(near)));
}
