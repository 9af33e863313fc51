import { DatabaseSync, type StatementSync } from "node:sqlite";
import { describeError } from "../../contract/errors.ts";
import { writeJson } from "../../pipeline/expression/value.ts";
import { isBlank, startOf } from "../../pipeline/types/statementText.ts";
import { counted } from "../../text/counted.ts";
import { duration } from "../../text/time.ts";
import { StepFault } from "../step/stepContext.ts";
import { type ReadRows, RowReader } from "./rows.ts";
import type { SqlitePlace, SqliteRequest } from "./sqliteConnection.ts";
import {
  describeWrongParams,
  runWork,
  type Session,
  type SqlOutcome,
  type Statement,
  severalStatements,
} from "./sqlWork.ts";

/** The parts of `process` that serve a parent. */
interface Channel {
  on(event: "message", listener: (message: SqliteRequest) => void): unknown;
  on(event: "disconnect" | "SIGTERM", listener: () => void): unknown;
  send?(message: SqlOutcome): unknown;
  exit(code: number): unknown;
}

/** Opens a SQLite database and serves the parent process's requests until it disconnects. */
export function serveSqlite(channel: Channel): void {
  let session: SqliteSession | undefined;
  const answer = async (request: SqliteRequest): Promise<SqlOutcome> => {
    switch (request.kind) {
      case "open":
        try {
          session = new SqliteSession(request);
          return { kind: "done", rows: new RowReader().end(0) };
        } catch (error) {
          return { kind: "failed", problem: describeSqliteProblem(error, request) };
        }
      case "run":
        if (session === undefined) return { kind: "failed", problem: "the database isn't open" };
        session.waitForLocks(request.lockPatienceMilliseconds);
        return runWork(session, request.work, () => {});
    }
  };
  channel.on("message", async (message) => channel.send?.(await answer(message)));
  channel.on("disconnect", () => {
    // Otherwise SQLite leaves its `-wal` and `-shm` files behind.
    session?.close();
    channel.exit(0);
  });
  // Ignored: at the run's end the parent disconnects, or kills this process when it is busy.
  channel.on("SIGTERM", () => {});
}

class SqliteSession implements Session {
  readonly begins: readonly string[];
  readonly #database: DatabaseSync;
  readonly #place: SqlitePlace;
  #lockPatience = 0;
  /** The part of a file that hasn't been run. */
  #left = "";

  constructor(place: SqlitePlace) {
    this.#place = place;
    // `immediate`: SQLite doesn't wait for the lock when a read transaction becomes a write transaction.
    this.begins = [place.isReadOnly ? "begin" : "begin immediate"];
    this.#database = new DatabaseSync(place.location, { readOnly: place.isReadOnly });
  }

  waitForLocks(milliseconds: number): void {
    this.#lockPatience = milliseconds;
    this.#database.exec(`pragma busy_timeout = ${milliseconds}`);
  }

  async control(text: string): Promise<void> {
    this.#database.exec(text);
  }

  async undo(): Promise<boolean> {
    try {
      this.#database.exec("rollback");
    } catch {
      // Ignored: the problem, such as a full disk, has rolled the transaction back already.
    }
    return true;
  }

  async statement({ text, params }: Statement): Promise<ReadRows> {
    const { rest, run } = prepare(this.#database, text);
    // Only the first statement is prepared; others would be ignored silently.
    if (!isBlank(rest)) throw new StepFault(severalStatements);
    return run(params);
  }

  async script(text: string): Promise<ReadRows> {
    let rows: ReadRows = new RowReader().end(0);
    this.#left = text;
    while (!isBlank(this.#left)) {
      this.#left = this.#left.slice(startOf(this.#left));
      const { rest, run } = prepare(this.#database, this.#left);
      rows = run([]);
      this.#left = rest;
    }
    return rows;
  }

  /** With the line of a file's statement instead of its number. */
  describe(error: unknown, text: string, done?: number): string {
    const problem =
      error instanceof StepFault
        ? error.message
        : describeSqliteProblem(error, this.#place, this.#lockPatience);
    const line = text.slice(0, text.length - this.#left.length).split("\n").length;
    return done === undefined ? problem : `line ${line}: ${problem}`;
  }

  close(): void {
    this.#database.close();
  }
}

/** Prepares the first statement of a text. @returns how to run it, and the text after it. */
function prepare(database: DatabaseSync, text: string) {
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

/** Runs the statement row by row. Its parameters were checked before, since Node ignores missing ones. */
function read(statement: StatementSync, bound: Bound, reader: RowReader): void {
  statement.setReadBigInts(true);
  reader.begin(statement.columns().map(({ name }) => name));
  statement.setReturnArrays(true);
  const rows =
    bound.kind === "by-name" ? statement.iterate(bound.values) : statement.iterate(...bound.values);
  for (const row of rows) reader.add(Object.values(row), sqliteToJson);
}

function numberOf(database: DatabaseSync, query: string): number {
  return Number(database.prepare(query).get()?.["n"]);
}

/** A problem of SQLite in a sentence. Result codes: sqlite.org/rescode.html. */
function describeSqliteProblem(error: unknown, { isReadOnly, name }: SqlitePlace, waited?: number): string {
  const message = error instanceof Error ? error.message : describeError(error);
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
      // V8's message when Node returns no row, because a text in it is longer than V8 allows.
      return message === "Iterator result undefined is not an object"
        ? "a text in a row is too large to be read: it has more than 512 MB"
        : message;
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
      return value === null ? null : writeJson(value);
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
    throw new StepFault(describeWrongParams(describe(numbers, count), params.length));
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
  if (numbers.size === 0) return counted(count, "value");
  return `the values ${[...numbers].toSorted((one, other) => one - other).join(", ")}`;
}

/** The parameters as written, in order; strings, quoted names and comments are skipped. */
function parametersIn(text: string): readonly string[] {
  const token =
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|[\p{L}_][\p{L}\p{N}_$]*|\?\d*|[:@$][\p{L}\p{N}_]+/gu;
  return [...text.matchAll(token)].flatMap(([found]) => (/^[?:@$]/.test(found) ? [found] : []));
}
