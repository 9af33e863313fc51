import { createContext, Script } from "node:vm";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import { quoted } from "../../pipeline/mistakes/problem.ts";
import { duration } from "../../text/time.ts";
import { StepFault } from "../step/stepContext.ts";
import { lastState, readableText } from "./readableText.ts";

/** How long a pattern may take on one text. A slow machine needs far less for 10 MB. */
const mostMilliseconds = 1000;

/** Thrown when a text can't be searched for what the pipeline file expects. */
export class PatternFault extends StepFault {
  override readonly name = "PatternFault";
}

/** @param cause what the match threw. V8 compiles a pattern at its first match, and may find it too large. */
function faultOf(written: string, cause: unknown): PatternFault {
  const pattern = quoted(written);
  const why = wasInterrupted(cause)
    ? `took longer than ${duration(mostMilliseconds)} on this text; write it without repetition within repetition`
    : "is too large to be matched; write a shorter one";
  return new PatternFault(`the pattern ${pattern} ${why}`, { cause });
}

/**
 * Makes a function that says whether a whole text matches the expectation, as a person sees both. The function throws PatternFault.
 */
export function searchFor(expectation: TextExpectation): (text: string) => boolean {
  const isIn = searchPartFor(expectation);
  return (text) => isIn(wholeText(expectation, text));
}

/** Ends a text with a line end, since an expected YAML block has one; not for a pattern, which would find one more line. */
function wholeText({ kind }: Pick<TextExpectation, "kind">, text: string): string {
  return kind === "contains" ? `${text}\n` : text;
}

/** As `searchFor`, for a text that may go on. */
function searchPartFor(expectation: TextExpectation): (text: string) => boolean {
  const seen = searchAs(expectation, asSeen);
  const asWritten = searchAs(expectation, (written) => written);
  return (text) => {
    const shown = asSeen(text);
    // Also as written: an expected text may begin with a combining mark, and a pattern may mean a certain kind of space.
    return seen(shown) || (shown !== text && asWritten(text));
  };
}

/** Nobody sees whether `é` is one character or two, which kind of space there is, as in `3:05 PM`, or how a line ends. */
function asSeen(text: string): string {
  return text
    .normalize()
    .replace(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " ")
    .replaceAll("\r\n", "\n");
}

function searchAs(expectation: TextExpectation, form: (written: string) => string) {
  if (expectation.kind === "contains") {
    const wanted = form(expectation.text);
    return (text: string) => text.includes(wanted);
  }
  const pattern = new RegExp(form(expectation.source), expectation.flags);
  const search = searchLines(pattern, describeExpectation(expectation));
  return (text: string) => search(text) !== null;
}

/** The longest form in which a text may be found: with each letter and line end in as many characters as it can have. */
function longestFound(text: string): number {
  return text.normalize("NFD").replaceAll("\n", "\r\n").length;
}

/**
 * The first match in a line of the text.
 * @throws PatternFault
 */
export function firstMatch(pattern: RegExp, text: string): RegExpExecArray | null {
  return searchLines(pattern, String(pattern))(text);
}

function searchLines(pattern: RegExp, written: string): (text: string) => RegExpExecArray | null {
  let lines = "";
  let found: RegExpExecArray | null = null;
  const search = interruptible(() => {
    lines.split(/\r?\n/).some((line) => {
      found = pattern.exec(line);
      return found !== null;
    });
  });
  return (text) => {
    lines = text;
    found = null;
    try {
      search();
      return found;
    } catch (error) {
      throw faultOf(written, error);
    }
  };
}

/**
 * Runs the work as a script of `node:vm`, which V8 can interrupt within a match: catastrophic backtracking of a pattern would
 * block the process. The function throws an error that `wasInterrupted` recognises when the work takes longer than a second.
 */
export function interruptible(work: () => void): () => void {
  const script = new Script("work()");
  const context = createContext({ work });
  return () => script.runInContext(context, { timeout: mostMilliseconds });
}

/** Not by `instanceof`: the script's context has its own `Error` class. */
export function wasInterrupted(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}

/** In characters. A longer line is searched piece by piece for a text; for a pattern not at all, which needs the line's ends. */
const longestLine = { contains: 64 * 1024, matches: 10 * 1024 * 1024 } as const;

/** Searches an output as a person reads it, or a stream as it comes, for what is expected. Keeps only the unfinished line. */
export class OutputSearch {
  readonly #isIn: (text: string) => boolean;
  readonly #kind: TextExpectation["kind"];
  readonly #isAsItComes: boolean;
  /** How many characters before a line may belong to a text that is found. */
  readonly #overlap: number;
  #before = "";
  /** The unfinished line. */
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

  /** Drops what is already overwritten in the unfinished line. */
  #shorten(): void {
    const whole = this.#pieces.join("");
    // A carriage return at the end may be followed by what overwrites the line.
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
