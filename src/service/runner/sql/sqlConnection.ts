import type { SqlStep } from "../../../pipeline/types/sql.ts";

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

/** What is kept of the rows of one statement. */
export interface ReadRows {
  /** The first rows, each as JSON. */
  readonly rows: readonly string[];
  /** How many rows the statement returned; more than `rows` holds when they were too many or too large to be kept. */
  readonly returned: number;
  /** The rows returned or, of a statement that returns none, those inserted, changed or deleted. */
  readonly count: number;
}

const mostRows = 10_000;
/** In UTF-16 units, of all rows that are kept. */
export const mostText = 10 * 1024 * 1024;

/** Reads rows as they come. Those that are too many are only counted, so that no result fills the memory. */
export class RowReader {
  readonly #rows: string[] = [];
  #names: readonly string[] = [];
  #returned = 0;
  #room = mostText;

  /** The columns' names; a second column of one name is `name:2`, so that none hides another. */
  begin(columns: readonly string[]): void {
    const seen = new Map<string, number>();
    this.#names = columns.map((column) => {
      const count = (seen.get(column) ?? 0) + 1;
      seen.set(column, count);
      return count === 1 ? column : `${column}:${count}`;
    });
  }

  /** @param toJson makes a column's value one that JSON has; not asked for rows that aren't kept. */
  add(values: readonly unknown[], toJson: (value: unknown, column: number) => unknown): void {
    this.#returned += 1;
    if (this.#returned > mostRows || this.#room <= 0) return;
    const size = values.reduce((sum: number, value) => sum + sizeOf(value), 0);
    if (size > this.#room) {
      this.#room = 0;
      return;
    }
    const row = JSON.stringify(
      Object.fromEntries(values.map((value, column) => [this.#names[column] ?? "", toJson(value, column)])),
    );
    this.#room -= row.length;
    if (this.#room >= 0) this.#rows.push(row);
  }

  /** @param changed how many rows the statement changed, if it returned none. */
  end(changed: number): ReadRows {
    return {
      rows: this.#rows,
      returned: this.#returned,
      count: this.#returned > 0 ? this.#returned : changed,
    };
  }
}

/** At least how many characters a value takes as JSON, told without making them. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.length * 2 : 0;
}
