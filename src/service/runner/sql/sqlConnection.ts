import type { SqlStep } from "../../../pipeline/types/sql.ts";
import type { ReadRows } from "./rowReader.ts";

/** A connection to a database, which the steps of one resource share for as long as the run takes. */
export interface SqlConnection extends AsyncDisposable {
  /**
   * Runs statements one after the other. Never rejects: what went wrong is a sentence. One call at a time.
   * @param note is told what the server has to say meanwhile.
   */
  run(work: SqlWork, note: (line: string) => void): Promise<SqlOutcome>;
  /** Cancels what runs, where it runs, and closes the connection. More calls wait for the first. */
  stop(): Promise<Stopped>;
}

export interface SqlWork {
  readonly statements: SqlStep["statements"];
  /** Whether they are one transaction: all or nothing. */
  readonly isTransaction: boolean;
  /** How long another program's lock is waited for, where the database lets its client decide that. */
  readonly lockPatienceMilliseconds: number;
}

export type SqlOutcome =
  /** What the last statement returned. */
  { readonly kind: "done"; readonly rows: ReadRows } | { readonly kind: "failed"; readonly problem: string };

export type Stopped =
  | { readonly kind: "stopped" }
  /** The statement may still run where it ran, since nobody could be told to stop it. */
  | { readonly kind: "unknown"; readonly problem: string };

/** Why a database can't be reached; its message is a plain sentence for people. */
export class NoConnection extends Error {
  override readonly name = "NoConnection";
}

/** What is wrong with one of the statements, and what became of the others. `index` counts from 0. */
export function describeStatementProblem(
  { isTransaction, statements }: Pick<SqlWork, "isTransaction" | "statements">,
  index: number,
  problem: string,
): string {
  if (!isTransaction) return problem;
  const where =
    index < statements.length ? `statement ${index + 1} of ${statements.length}` : "the transaction's end";
  return `${where}: ${problem}\nthe transaction was undone`;
}

export const severalStatements =
  "a `query` is one statement, and this one goes on with another; put them into a list, as `statements`";
