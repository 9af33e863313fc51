import { meets, type TextExpectation } from "../../../pipeline/textExpectation.ts";

/** A line longer than this is looked at in parts. */
const longestLine = 64 * 1024;

/** Looks for what an output is expected to hold while it streams by, keeping only what the next piece may complete. */
export class OutputSearch {
  readonly #expectation: TextExpectation;
  #rest = "";
  #found = false;

  constructor(expectation: TextExpectation) {
    this.#expectation = expectation;
  }

  write(piece: string): void {
    if (this.#found) return;
    const text = this.#rest + piece;
    switch (this.#expectation.kind) {
      case "contains": {
        this.#found = meets(this.#expectation, text);
        const { length } = this.#expectation.text;
        this.#rest = length > 1 ? text.slice(1 - length) : "";
        return;
      }
      case "matches": {
        const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
        this.#found = end > 0 && meets(this.#expectation, text.slice(0, end));
        this.#rest = text.slice(end);
        return;
      }
      default:
        this.#expectation satisfies never;
    }
  }

  /** Whether the output, which is complete now, held what it should. */
  end(): boolean {
    return this.#found || meets(this.#expectation, this.#rest);
  }
}
