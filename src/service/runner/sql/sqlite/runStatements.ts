import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isBlank } from "../../../../pipeline/types/statementText.ts";
import { type ReadRows, RowReader } from "../rowReader.ts";
import {
  describeStatementProblem,
  type SqlOutcome,
  type SqlWork,
  severalStatements,
} from "../sqlConnection.ts";
import { describeSqliteProblem } from "./sqliteProblem.ts";
import { type Bound, bind, sqliteToJson } from "./sqliteValue.ts";

export interface Opened {
  readonly database: DatabaseSync;
  /** What it is called in messages. */
  readonly name: string;
  readonly isReadOnly: boolean;
}

/** Runs statements one after the other, as one transaction where that is wanted. Never throws. */
export function runStatements(opened: Opened, work: SqlWork): SqlOutcome {
  const { database } = opened;
  const { isTransaction, lockPatienceMilliseconds, statements } = work;
  let index = 0;
  let rows: ReadRows = new RowReader().end(0);
  let isOpen = false;
  try {
    database.exec(`pragma busy_timeout = ${lockPatienceMilliseconds}`);
    if (isTransaction) {
      // Taken at once, the lock can be waited for; taken by a first change after a first look, it can't.
      database.exec(opened.isReadOnly ? "begin" : "begin immediate");
      isOpen = true;
    }
    for (const { text, params } of statements) {
      rows = runStatement(database, text, params);
      index += 1;
    }
    if (isTransaction) database.exec("commit");
    return { kind: "done", rows };
  } catch (error) {
    if (isOpen) undo(database);
    const problem =
      error instanceof StatementProblem
        ? error.message
        : describeSqliteProblem(error, { ...opened, lockPatienceMilliseconds });
    return {
      kind: "failed",
      problem: isOpen || !isTransaction ? describeStatementProblem(work, index, problem) : problem,
    };
  }
}

class StatementProblem extends Error {}

function runStatement(database: DatabaseSync, text: string, params: readonly unknown[]): ReadRows {
  // What Node says of an empty text depends on its version.
  if (isBlank(text)) throw new StatementProblem("there is no statement in this text");
  const statement = database.prepare(text);
  // Only the first statement was prepared; the others would be ignored without a word.
  if (!isBlank(text.slice(statement.sourceSQL.length))) throw new StatementProblem(severalStatements);
  const bound = bind(text, params);
  if (bound.kind === "invalid") throw new StatementProblem(bound.problem);
  const reader = new RowReader();
  const before = numberOf(database, "select total_changes() as n");
  read(statement, bound, reader);
  const hasChanged = numberOf(database, "select total_changes() as n") !== before;
  // SQLite's `changes()` alone still tells of an earlier statement after one that changes nothing, as `create table`.
  return reader.end(hasChanged ? numberOf(database, "select changes() as n") : 0);
}

/** Runs the statement, row by row. Which parameters it takes has been checked: Node would leave out what is missing. */
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

/** Some problems, such as a full disk, have undone the transaction already. */
function undo(database: DatabaseSync): void {
  try {
    database.exec("rollback");
  } catch {}
}
