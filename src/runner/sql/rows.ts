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

/** The number if it is exact, apart from trailing zeros; otherwise the text. */
export function exactNumber(text: string): number | string {
  const digits = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const point = digits.indexOf(".");
  const decimals = point === -1 ? 0 : digits.length - point - 1;
  const number = Number(digits);
  const isExact =
    decimals === 0 ? Number.isSafeInteger(number) : decimals <= 100 && number.toFixed(decimals) === digits;
  return isExact ? number : text;
}

/** Parses JSON; a number that JavaScript can't hold exactly becomes its text. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, exactly);
}

function exactly(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  const isWhole = /^-?\d+$/.test(source);
  return Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value)) ? value : source;
}
