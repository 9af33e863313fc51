import type { TextExpectation } from "../../../pipeline/schema/values.ts";
import { PatternFault, searchFor } from "../textSearch.ts";

/** A line longer than this is looked at in parts. */
const longestLine = 64 * 1024;

/** Looks for what an output is expected to hold while it streams by, keeping only what the next piece may complete. */
export class OutputSearch {
  readonly #expectation: TextExpectation;
  readonly #isIn: (text: string) => boolean;
  #rest = "";
  #found: boolean | PatternFault = false;

  constructor(expectation: TextExpectation) {
    this.#expectation = expectation;
    this.#isIn = searchFor(expectation);
  }

  write(piece: string): void {
    if (this.#found !== false) return;
    const text = this.#rest + piece;
    switch (this.#expectation.kind) {
      case "contains": {
        this.#look(text);
        const { length } = this.#expectation.text;
        this.#rest = length > 1 ? text.slice(1 - length) : "";
        return;
      }
      case "matches": {
        const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
        if (end > 0) this.#look(text.slice(0, end));
        this.#rest = text.slice(end);
        return;
      }
      default:
        this.#expectation satisfies never;
    }
  }

  /**
   * Whether the output, which is complete now, held what it should.
   * @throws PatternFault
   */
  end(): boolean {
    if (this.#found === false) this.#look(this.#rest);
    if (this.#found instanceof PatternFault) throw this.#found;
    return this.#found;
  }

  #look(text: string): void {
    try {
      this.#found = this.#isIn(text);
    } catch (error) {
      if (!(error instanceof PatternFault)) throw error;
      // Told at the end: the program goes on, and what it writes is read.
      this.#found = error;
    }
  }
}
