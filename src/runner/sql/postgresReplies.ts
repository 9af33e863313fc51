import pg from "pg";
import { describeError } from "../../contract/errors.ts";
import { writeJson } from "../../pipeline/expression/value.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { counted } from "../../text/counted.ts";
import { type DatabaseServer, describeReachProblem, isLoss, isWithoutTls } from "./databaseServer.ts";
import { exactNumber, parseExactly } from "./rows.ts";
import { describeWrongParams, severalStatements } from "./sqlWork.ts";

/**
 * A column's value for JSON. Booleans, JSON, arrays of common types, and numbers that JSON can hold exactly keep their
 * type; everything else is text, as PostgreSQL writes it.
 *
 * @param type the oid of the column's type in `pg_type`.
 */
export function postgresToJson(value: unknown, type: number): unknown {
  if (typeof value !== "string") return value;
  const itemType = itemTypes.get(type);
  if (itemType !== undefined) return itemsToJson(pg.types.getTypeParser(textList)(value), itemType);
  switch (type) {
    case bool:
      return value === "t";
    case json:
    case jsonb:
      return parseExactly(value);
    case float4:
    case float8:
      return Number.isFinite(Number(value)) ? Number(value) : value;
    case int2:
    case int4:
    case int8:
    case oid:
    case numeric:
      return exactNumber(value);
    default:
      return value;
  }
}

/**
 * A value of `params` for PostgreSQL: text, whose type the statement decides. Lists and maps are JSON.
 *
 * @param isArray whether a list is an array of PostgreSQL's, which the library writes.
 */
export function jsonToPostgres(value: unknown, isArray: boolean): unknown {
  if (value === null) return null;
  if (isArray && Array.isArray(value)) return value.map((item) => jsonToPostgres(item, true));
  return typeof value === "string" ? value : writeJson(value);
}

function itemsToJson(items: unknown, type: number): unknown {
  return Array.isArray(items) ? items.map((item) => itemsToJson(item, type)) : postgresToJson(items, type);
}

const { BOOL: bool, FLOAT4: float4, FLOAT8: float8, INT2: int2, INT4: int4, INT8: int8 } = pg.types.builtins;
const { JSON: json, JSONB: jsonb, NUMERIC: numeric, OID: oid, TEXT: text, UUID: uuid } = pg.types.builtins;
const textList: number = 1009;
/** The item type of each array type. These oids are fixed. */
const itemTypes = new Map<number, number>([
  [1000, bool],
  [1005, int2],
  [1007, int4],
  [textList, text],
  [1015, text],
  [1016, int8],
  [1021, float4],
  [1022, float8],
  [1231, numeric],
  [2951, uuid],
  [199, json],
  [3807, jsonb],
]);

/** Why there is no connection, in a sentence. */
export function describeConnectionProblem(server: DatabaseServer, error: unknown): string {
  const [code, message] = [codeOf(error), describeError(error)];
  const { database, host, user } = server;
  const problem = describeReachProblem(server, error);
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
  if (isLoss(error) || /establishing an SSL connection/.test(message)) {
    return `${host} closed the connection; is it a PostgreSQL server?`;
  }
  if (/^received (?:unexpected|invalid)/i.test(message)) return `${host} doesn't answer as PostgreSQL does`;
  return `${host} can't be used: ${message}${code === undefined ? "" : ` (${code})`}`;
}

/** What the server says where `params` has more or fewer values than the statement has parameters. */
const wrongCount = /^bind message supplies (\d+) parameters, but prepared statement .* requires (\d+)$/;

/** The lines of a file that aren't statements, as `pg_dump` writes them. */
const ofPsql = /^(?:\\\w|copy\b[^;]*\bfrom\s+stdin\b)/im;
const onlyPsql =
  "lines that begin with `\\`, and data behind `copy … from stdin`, are for psql alone; `pg_dump --inserts` writes statements";

/** A parameter as other databases and tools write it. */
const ofOthers = /(?<![\w:])(?:\?|:[a-z_])/i;

/** Hints for errors, by their code, for which the server gives none. */
const hints: Readonly<Record<string, string>> = {
  "42P18": "a parameter whose type nothing tells has it behind it, such as `$1::text`",
  "25P02": "a statement before this one failed; `rollback` ends the transaction that it was in",
};

/** The message for an error with which the server, or a pooler in front of it, ends the session; undefined for any other error. */
export function describeEnd({ host }: DatabaseServer, error: unknown): string | undefined {
  // A server may say the severity in its own language.
  const isFatal = error instanceof pg.DatabaseError && /^(?:FATAL|PANIC)$/.test(error.severity ?? "");
  return isFatal || /^(?:57P|25P0[34])/.test(codeOf(error) ?? "")
    ? `${host} ended the connection: ${describeError(error)}`
    : undefined;
}

/**
 * The server's error about a statement, with detail, hint and position.
 *
 * @param done of a file: how many of its statements were done before.
 */
export function describeStatementError(
  server: DatabaseServer,
  error: unknown,
  text: string,
  done?: number,
): string {
  const [code, message] = [codeOf(error), describeError(error)];
  const {
    detail,
    routine,
    where = "",
    ...said
  }: Partial<pg.DatabaseError> = error instanceof pg.DatabaseError ? error : {};
  if (isLoss(error)) return `${server.host} closed the connection before the statement was over`;
  const end = describeEnd(server, error);
  if (end !== undefined) return end;
  if (message.endsWith("No source stream defined"))
    return "a step has no data for `copy … from stdin`: insert the rows, or let a program such as `psql` copy them";
  if (code === "42601" && routine === "exec_parse_message") return severalStatements;
  const [, given, wanted] = wrongCount.exec(message) ?? [];
  if (given !== undefined && wanted !== undefined)
    return describeWrongParams(counted(Number(wanted), "value"), Number(given));
  // A list where the statement wants no array was sent as JSON.
  const isList = code === "22P02" && /"\[.*\]"$/s.test(message);
  const isOfPsql = done !== undefined && code === "42601" && ofPsql.test(text);
  const isOtherParameter =
    code === "42601" &&
    done === undefined &&
    ofOthers.test(text.replace(/'[^']*'/g, "")) &&
    !/\$\d/.test(text);
  const hint =
    said.hint ??
    hints[code ?? ""] ??
    (isList ? "`= any($1)` takes a list, `in ($1)` one value" : undefined) ??
    (isOfPsql ? onlyPsql : undefined) ??
    (isOtherParameter ? "parameters are `$1`, `$2` and so on in PostgreSQL" : undefined) ??
    (code === "25001" && message.includes("cannot run inside")
      ? "such a statement is a `query` by itself, while no transaction is open"
      : undefined);
  // Within a function or a block of code there is no position.
  const within = /^.*\bfunction\b.*/m.exec(where)?.[0];
  const place = placeIn(text, Number(said.position));
  const at = place && ` (${place} of the ${done === undefined ? "statement" : "file"})`;
  return [
    `${place || done === undefined ? "" : `statement ${done + 1}: `}${message}${at}`,
    detail,
    within && `in ${within}`,
    hint && `hint: ${hint}`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** @param position in characters, from 1; NaN when the server gives none. */
function placeIn(text: string, position: number): string {
  if (!Number.isInteger(position)) return "";
  const before = [...text].slice(0, position - 1).join("");
  const line = before.split("\n").length;
  return `line ${line}, column ${before.length - before.lastIndexOf("\n")}`;
}
