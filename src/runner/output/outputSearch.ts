import type { TextExpectation } from "../../pipeline/file/values.ts";
import { lastState, readableText } from "./readableText.ts";
import { longestFound, PatternFault, searchPartFor, wholeText } from "./textSearch.ts";

/** In characters: in a longer line a text is looked for piece by piece, and a pattern not at all, whose ends are the line's. */
const longestLine = { contains: 64 * 1024, matches: 10 * 1024 * 1024 } as const;

/** Searches an output as a person reads it, or a stream as it comes, for what is expected. It holds no more than the line that has begun. */
export class OutputSearch {
  readonly #isIn: (text: string) => boolean;
  readonly #kind: TextExpectation["kind"];
  readonly #isAsItComes: boolean;
  /** How much of the text before a line may belong to a text that is found. */
  readonly #overlap: number;
  #before = "";
  /** Of the line that has begun. */
  #pieces: string[] = [];
  #length = 0;
  #found: boolean | PatternFault = false;

  constructor(expectation: TextExpectation, isAsItComes = false) {
    this.#isIn = searchPartFor(expectation);
    this.#kind = expectation.kind;
    this.#isAsItComes = isAsItComes;
    this.#overlap = expectation.kind === "contains" ? longestFound(expectation.text) - 1 : 0;
  }

  write(piece: string): void {
    if (this.#found !== false) return;
    const end = piece.lastIndexOf("\n") + 1;
    if (end > 0) {
      this.#search([...this.#pieces.splice(0), piece.slice(0, end)].join(""));
      this.#length = 0;
    }
    this.#pieces.push(piece.slice(end));
    this.#length += piece.length - end;
    if (this.#length > longestLine[this.#kind]) this.#shorten();
  }

  /**
   * Whether the complete output is as expected.
   * @throws PatternFault
   */
  end(): boolean {
    if (this.#found === false) this.#search(wholeText({ kind: this.#kind }, this.#pieces.splice(0).join("")));
    if (this.#found instanceof PatternFault) throw this.#found;
    return this.#found;
  }

  /**
   * Whether it was found so far, the line that has begun included.
   * @throws PatternFault
   */
  soFar(): boolean {
    if (this.#found instanceof PatternFault) throw this.#found;
    return this.#found || this.#isIn(this.#before + this.#read(this.#pieces.join("")));
  }

  /** What was overwritten already is let go. */
  #shorten(): void {
    const whole = this.#pieces.join("");
    // One at the end may be followed by what overwrites the line.
    const line = this.#isAsItComes ? whole : lastState(whole) + (whole.endsWith("\r") ? "\r" : "");
    this.#pieces = [line];
    this.#length = line.length;
    if (line.length <= longestLine[this.#kind]) return;
    this.#pieces = [];
    this.#length = 0;
    if (this.#kind === "contains") this.#search(line);
    else
      this.#found = new PatternFault(
        "the output has a line of more than 10 MB, the most that a pattern is looked for in",
      );
  }

  #read(text: string): string {
    return this.#isAsItComes ? text : readableText(text);
  }

  #search(lines: string): void {
    const text = this.#before + this.#read(lines);
    this.#before = this.#overlap > 0 ? text.slice(-this.#overlap) : "";
    try {
      this.#found = this.#isIn(text);
    } catch (error) {
      if (!(error instanceof PatternFault)) throw error;
      // Reported by `end`: the program continues, and its output is still read.
      this.#found = error;
    }
  }
}
