import type { SqlStep } from "../../pipeline/types/sql.ts";
import { type ReadRows, RowReader } from "./rows.ts";

type Statements = Extract<SqlStep["work"], { kind: "statements" }>;
export type Statement = Statements["statements"][number];

export type SqlWork =
  | Statements
  | {
      readonly kind: "script";
      /** What the file is called in messages. */
      readonly name: string;
      readonly text: string;
    };

export type SqlOutcome =
  /** What the last statement returned. */
  { readonly kind: "done"; readonly rows: ReadRows } | { readonly kind: "failed"; readonly problem: string };

/** What differs between databases where statements are run: a session, by the library for it. One call at a time. */
export interface Session {
  readonly begins: readonly string[];
  /** Runs a statement that controls a transaction. @throws what the database says of it. */
  control(text: string): Promise<unknown>;
  /** Undoes an open transaction because of an error. Never rejects. @returns whether nothing of it was committed. */
  undo(error: unknown): Promise<boolean>;
  /** @throws what the database says of it. */
  statement(statement: Statement, note: (line: string) => void): Promise<ReadRows>;
  /**
   * Runs a text of many statements. @returns what the last one returned.
   *
   * @param tellDone called with how many of them are done, at the latest before it throws.
   * @throws what the database says of one of them.
   */
  script(text: string, note: (line: string) => void, tellDone: (count: number) => void): Promise<ReadRows>;
  /** Whether the last statement has committed the transaction. Left out where nothing but `commit` does that. */
  hasCommitted?(): boolean;
  /** The database's error about a statement, for people. @param done of a script: how many of its statements were done before. */
  describe(error: unknown, text: string, done?: number): string;
}

/**
 * Runs statements in order, as one transaction if so requested, or a file of them. Never rejects.
 * @param note called with the database's notices.
 * @param isStopped whether no further statement is to be begun.
 */
export function runWork(
  session: Session,
  work: SqlWork,
  note: (line: string) => void,
  isStopped = () => false,
): Promise<SqlOutcome> {
  return work.kind === "script"
    ? runScript(session, work, note)
    : runStatements(session, work, note, isStopped);
}

async function runStatements(
  session: Session,
  { isTransaction, statements }: Statements,
  note: (line: string) => void,
  isStopped: () => boolean,
): Promise<SqlOutcome> {
  let text = "begin";
  let index = 0;
  let rows: ReadRows = new RowReader().end(0);
  let isOpen = false;
  /** The last statement that has committed the transaction. */
  let committed: number | undefined;
  const begin = async () => {
    for (const text of session.begins) await session.control(text);
  };
  try {
    if (isTransaction) await begin();
    isOpen = isTransaction;
    for (const statement of statements) {
      // The request to cancel may have come between two statements.
      if (isStopped()) throw new Error("it was cancelled");
      text = statement.text;
      rows = await session.statement(statement, note);
      if (isTransaction && session.hasCommitted?.()) {
        committed = index;
        await begin();
      }
      index += 1;
    }
    text = "commit";
    if (isTransaction) await session.control(text);
    return { kind: "done", rows };
  } catch (error) {
    const problem = session.describe(error, text);
    if (!isOpen) return { kind: "failed", problem };
    if (!(await session.undo(error))) committed = index;
    const where =
      index < statements.length ? `statement ${index + 1} of ${statements.length}` : "the transaction's end";
    const kept = committed === undefined ? "" : `, but for what statement ${committed + 1} has committed`;
    return { kind: "failed", problem: `${where}: ${problem}\nthe transaction was undone${kept}` };
  }
}

async function runScript(
  session: Session,
  { name, text }: Extract<SqlWork, { kind: "script" }>,
  note: (line: string) => void,
): Promise<SqlOutcome> {
  let done = 0;
  const tellDone = (count: number) => {
    done = count;
  };
  try {
    return { kind: "done", rows: await session.script(text, note, tellDone) };
  } catch (error) {
    const problem = `${name}: ${session.describe(error, text, done)}`;
    // Undoes a transaction that the file has left open.
    await session.undo(error);
    return { kind: "failed", problem };
  }
}

export const severalStatements =
  "a `query` is one statement, and this one goes on with another; put them into a list, as `statements`";

/** @param wanted the values that the statement takes. @param given how many `params` has. */
export function describeWrongParams(wanted: string, given: number): string {
  return `the statement takes ${wanted}, and \`params\` holds ${given}`;
}
