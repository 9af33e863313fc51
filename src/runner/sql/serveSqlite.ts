import { DatabaseSync, type StatementSync } from "node:sqlite";
import { describeError } from "../../contract/errors.ts";
import { isBlank, startOf } from "../../pipeline/types/statementText.ts";
import { duration } from "../../text/time.ts";
import { asJson } from "../step/jsonMismatches.ts";
import { StepFault } from "../step/stepContext.ts";
import {
  describeStatementProblem,
  type ReadRows,
  RowReader,
  type SqlOutcome,
  type SqlWork,
  severalStatements,
} from "./sqlConnection.ts";
import type { SqliteRequest } from "./sqliteConnection.ts";

/** The parts of `process` that serve a parent. */
interface Channel {
  on(event: "message", listener: (message: SqliteRequest) => void): unknown;
  on(event: "disconnect" | "SIGTERM", listener: () => void): unknown;
  send?(message: SqlOutcome): unknown;
  exit(code: number): unknown;
}

/** Opens a SQLite database and serves the parent process's requests until it disconnects. */
export function serveSqlite(channel: Channel): void {
  let opened: Opened | undefined;
  const answer = (request: SqliteRequest): SqlOutcome => {
    switch (request.kind) {
      case "open": {
        const { isReadOnly, location, name } = request;
        try {
          opened = { database: new DatabaseSync(location, { readOnly: isReadOnly }), name, isReadOnly };
          return done;
        } catch (error) {
          return { kind: "failed", problem: describeSqliteProblem(error, request) };
        }
      }
      case "run":
        return opened === undefined
          ? { kind: "failed", problem: "the database isn't open" }
          : runWork(opened, request.work, request.lockPatienceMilliseconds);
    }
  };
  channel.on("message", (message) => channel.send?.(answer(message)));
  channel.on("disconnect", () => {
    // Otherwise SQLite leaves its `-wal` and `-shm` files behind.
    opened?.database.close();
    channel.exit(0);
  });
  // Ignored: at the run's end the parent disconnects, or kills this process when it is busy.
  channel.on("SIGTERM", () => {});
}

const done: SqlOutcome = { kind: "done", rows: new RowReader().end(0) };

interface Opened {
  readonly database: DatabaseSync;
  /** What it is called in messages. */
  readonly name: string;
  readonly isReadOnly: boolean;
}

/** Never throws. */
function runWork(opened: Opened, work: SqlWork, lockPatienceMilliseconds: number): SqlOutcome {
  opened.database.exec(`pragma busy_timeout = ${lockPatienceMilliseconds}`);
  const describe = (error: unknown) =>
    error instanceof StepFault
      ? error.message
      : describeSqliteProblem(error, { ...opened, lockPatienceMilliseconds });
  return work.kind === "script" ? runScript(opened, work, describe) : runStatements(opened, work, describe);
}

/** Runs statements in order, as one transaction if so requested. */
function runStatements(
  { database, isReadOnly }: Opened,
  work: Extract<SqlWork, { kind: "statements" }>,
  describe: (error: unknown) => string,
): SqlOutcome {
  const { isTransaction, statements } = work;
  let index = 0;
  let rows: ReadRows = new RowReader().end(0);
  let isOpen = false;
  try {
    if (isTransaction) {
      // `immediate`: SQLite doesn't wait for the lock when a read transaction becomes a write transaction.
      database.exec(isReadOnly ? "begin" : "begin immediate");
      isOpen = true;
    }
    for (const { text, params } of statements) {
      const { rest, run } = prepare(database, text);
      // Only the first statement is prepared; others would be ignored silently.
      if (!isBlank(rest)) throw new StepFault(severalStatements);
      rows = run(params);
      index += 1;
    }
    if (isTransaction) database.exec("commit");
    return { kind: "done", rows };
  } catch (error) {
    if (isOpen) undo(database);
    const problem = describe(error);
    return {
      kind: "failed",
      problem: isOpen || !isTransaction ? describeStatementProblem(work, index, problem) : problem,
    };
  }
}

/** Runs a file's statements one by one. */
function runScript(
  { database }: Opened,
  { name, text }: Extract<SqlWork, { kind: "script" }>,
  describe: (error: unknown) => string,
): SqlOutcome {
  let left = text;
  let rows: ReadRows = new RowReader().end(0);
  try {
    while (!isBlank(left)) {
      left = left.slice(startOf(left));
      const { rest, run } = prepare(database, left);
      rows = run([]);
      left = rest;
    }
    return { kind: "done", rows };
  } catch (error) {
    const line = text.slice(0, text.length - left.length).split("\n").length;
    const problem = `${name}: line ${line}: ${describe(error)}`;
    // What the file has begun.
    undo(database);
    return { kind: "failed", problem };
  }
}

/** Prepares the first statement of a text. */
function prepare(database: DatabaseSync, text: string): Prepared {
  // Node's own error for an empty text depends on its version.
  if (isBlank(text)) throw new StepFault("there is no statement in this text");
  const statement = database.prepare(text);
  const run = (params: readonly unknown[]) => {
    const bound = bind(statement.sourceSQL, params);
    const reader = new RowReader();
    const before = numberOf(database, "select total_changes() as n");
    read(statement, bound, reader);
    const hasChanged = numberOf(database, "select total_changes() as n") !== before;
    // After a statement that changes no rows, such as `create table`, `changes()` still has the previous count.
    return reader.end(hasChanged ? numberOf(database, "select changes() as n") : 0);
  };
  return { rest: text.slice(statement.sourceSQL.length), run };
}

interface Prepared {
  /** What stands behind it. */
  readonly rest: string;
  readonly run: (params: readonly unknown[]) => ReadRows;
}

/** Runs the statement row by row. Its parameters were checked before, since Node ignores missing ones. */
function read(statement: StatementSync, bound: Bound, reader: RowReader): void {
  statement.setReadBigInts(true);
  reader.begin(statement.columns().map(({ name }) => name));
  statement.setReturnArrays(true);
  for (const row of iterate(statement, bound)) reader.add(Object.values(row), sqliteToJson);
}

function iterate(statement: StatementSync, bound: Bound): Iterable<object> {
  return bound.kind === "by-name" ? statement.iterate(bound.values) : statement.iterate(...bound.values);
}

function numberOf(database: DatabaseSync, query: string): number {
  return Number(database.prepare(query).get()?.["n"]);
}

/** Rolls back. Ignored where the problem, such as a full disk, has rolled the transaction back already. */
function undo(database: DatabaseSync): void {
  try {
    database.exec("rollback");
  } catch {}
}

interface About {
  /** What the database is called in messages. */
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly lockPatienceMilliseconds?: number;
}

/** A problem of SQLite in a sentence. Result codes: sqlite.org/rescode.html. */
function describeSqliteProblem(error: unknown, about: About): string {
  const message = error instanceof Error ? error.message : describeError(error);
  const { isReadOnly, lockPatienceMilliseconds: waited, name } = about;
  switch (primaryCode(error)) {
    case 5:
    case 6:
      return `another program holds a lock on ${name}${waited === undefined ? "" : `; it was waited for ${duration(waited)}`}`;
    case 8:
      return isReadOnly
        ? `${name} is opened with \`mode=ro\`, so it can't be changed`
        : `${name} can't be changed: the file or its folder is read-only`;
    case 11:
      return `${name} is damaged (${message})`;
    case 13:
      return `there is no room left for ${name}: the disk is full`;
    case 14:
      return `${name} can't be opened: this user may not, or its folder is missing`;
    case 26:
      return `${name} is no SQLite database`;
    default:
      return message;
  }
}

/** The primary result code: the lowest byte of the extended one. */
function primaryCode(error: unknown): number | undefined {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode & 0xff
    : undefined;
}

/** A column's value for JSON. A number that JSON can't hold exactly becomes text, and a blob `\x` with its hex digits. */
function sqliteToJson(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value;
}

/** A value of `params` for SQLite: booleans are 0 and 1, lists and maps are JSON. */
function jsonToSqlite(value: unknown): null | number | bigint | string {
  switch (typeof value) {
    case "string":
    case "bigint":
      return value;
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      // Node binds numbers as floats, and in a column without a type `1.0` differs from `1`.
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    default:
      return value === null ? null : asJson(value);
  }
}

type SqliteValue = ReturnType<typeof jsonToSqlite>;

/** A statement's values as Node binds them. */
type Bound =
  | { readonly kind: "in-order"; readonly values: readonly SqliteValue[] }
  | { readonly kind: "by-name"; readonly values: Readonly<Record<string, SqliteValue>> };

/**
 * Assigns values to a statement's parameters: `?` in order, `?1` and `$1` by number. The number of values is checked
 * here, since SQLite takes a missing value as null.
 * @throws StepFault where the values don't fit.
 */
export function bind(text: string, params: readonly unknown[]): Bound {
  const names = parametersIn(text);
  const numbered = names.filter((name) => /^[?$]\d+$/.test(name));
  const strange = names.find((name) => name !== "?" && !numbered.includes(name));
  if (strange !== undefined) {
    throw new StepFault(
      `the parameter \`${strange}\` has no number; write \`?\`, or \`$1\`, \`$2\` and so on`,
    );
  }
  if (numbered.length > 0 && numbered.length < names.length) {
    throw new StepFault("a statement has parameters as `?` or with numbers, not both");
  }
  const numbers = new Set(numbered.map((name) => Number(name.slice(1))));
  const count = numbers.size > 0 ? Math.max(...numbers) : names.length;
  if (count !== params.length || numbers.has(0) || (numbers.size > 0 && numbers.size < count)) {
    throw new StepFault(
      `the statement takes ${describe(numbers, count)}, and \`params\` holds ${params.length}`,
    );
  }
  if (numbers.size === 0) return { kind: "in-order", values: params.map(jsonToSqlite) };
  return {
    kind: "by-name",
    values: Object.fromEntries(
      numbered.map((name) => [name, jsonToSqlite(params[Number(name.slice(1)) - 1])]),
    ),
  };
}

function describe(numbers: ReadonlySet<number>, count: number): string {
  if (numbers.size === 0) return count === 1 ? "1 value" : `${count} values`;
  return `the values ${[...numbers].toSorted((one, other) => one - other).join(", ")}`;
}

/** The parameters as written, in order; strings, quoted names and comments are skipped. */
function parametersIn(text: string): readonly string[] {
  const token =
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}_][\p{L}\p{N}_$]*|\?\d*|[:@$][\p{L}\p{N}_]+/gu;
  return [...text.matchAll(token)].flatMap(([found]) => (/^[?:@$]/.test(found) ? [found] : []));
}
