import type { SqlStep } from "../../pipeline/types/sql.ts";

/** A connection to a database, which the steps of a resource share until the run ends. */
export interface SqlConnection extends AsyncDisposable {
  /**
   * Runs statements in order, one call at a time. Never rejects: a problem is a sentence in the outcome.
   * @param note called with the server's notices.
   * @param lockPatienceMilliseconds how long to wait for another program's lock, where the client decides that.
   */
  run(work: SqlWork, note: (line: string) => void, lockPatienceMilliseconds: number): Promise<SqlOutcome>;
  /** Whether what was connected to is gone, so that no statement can run any more. */
  readonly isLost: boolean;
  /**
   * Cancels the running statement and closes the connection. Further calls wait for the first.
   * @returns why the statement may still run: the server couldn't be told to cancel it.
   */
  stop(): Promise<string | undefined>;
}

export type Statement = Extract<SqlStep["work"], { kind: "statements" }>["statements"][number];

export type SqlWork =
  | {
      readonly kind: "statements";
      readonly statements: readonly Statement[];
      /** Whether they are one transaction: all or nothing. */
      readonly isTransaction: boolean;
    }
  | {
      readonly kind: "script";
      /** What the file is called in messages. */
      readonly name: string;
      readonly text: string;
    };

export type SqlOutcome =
  /** What the last statement returned. */
  { readonly kind: "done"; readonly rows: ReadRows } | { readonly kind: "failed"; readonly problem: string };

/**
 * A statement's problem, and for a transaction the statement's number.
 *
 * @param index counts from 0.
 * @param committed the last statement that has committed the transaction, from 0.
 */
export function describeStatementProblem(
  { isTransaction, statements }: Extract<SqlWork, { kind: "statements" }>,
  index: number,
  problem: string,
  committed?: number,
): string {
  if (!isTransaction) return problem;
  const where =
    index < statements.length ? `statement ${index + 1} of ${statements.length}` : "the transaction's end";
  const kept = committed === undefined ? "" : `, but for what statement ${committed + 1} has committed`;
  return `${where}: ${problem}\nthe transaction was undone${kept}`;
}

export const severalStatements =
  "a `query` is one statement, and this one goes on with another; put them into a list, as `statements`";

/** @param wanted the values that the statement takes. @param given how many `params` has. */
export function describeWrongParams(wanted: string, given: number): string {
  return `the statement takes ${wanted}, and \`params\` holds ${given}`;
}

/** The rows of a statement, up to the limits. */
export interface ReadRows {
  /** The first rows, each as JSON. */
  readonly rows: readonly string[];
  /** How many rows the statement returned; more than in `rows` when they exceed the limits. */
  readonly returned: number;
  /** How many rows were returned or, if none, inserted, changed or deleted. */
  readonly count: number;
}

const mostRows = 10_000;
/** The limit of all rows together, in UTF-16 units. */
export const mostText = 10 * 1024 * 1024;

/** Reads rows as they arrive. Beyond the limits they are only counted, so that memory stays bounded. */
export class RowReader {
  readonly #rows: string[] = [];
  #names: readonly string[] = [];
  #returned = 0;
  #room = mostText;

  /** Sets the columns' names. A second column of the same name becomes `name:2`. */
  begin(columns: readonly string[]): void {
    const seen = new Map<string, number>();
    this.#names = columns.map((column) => {
      const count = (seen.get(column) ?? 0) + 1;
      seen.set(column, count);
      return count === 1 ? column : `${column}:${count}`;
    });
  }

  /** @param toJson converts a column's value to one of JSON; not called beyond the limits. */
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

/** A lower bound of a value's length as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return value instanceof Uint8Array ? value.length * 2 : 0;
}
