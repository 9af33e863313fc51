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
