import { createContext, Script } from "node:vm";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import { quoted } from "../../pipeline/mistakes/problem.ts";
import { duration } from "../../text/time.ts";
import { StepFault } from "../step/stepContext.ts";

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

/** A block of YAML ends with a line end, which the last line of a text may lack; a pattern would find a line more. */
export function wholeText({ kind }: Pick<TextExpectation, "kind">, text: string): string {
  return kind === "contains" ? `${text}\n` : text;
}

/** As `searchFor`, for a text that may go on. */
export function searchPartFor(expectation: TextExpectation): (text: string) => boolean {
  const seen = searchAs(expectation, asSeen);
  const asWritten = searchAs(expectation, (written) => written);
  return (text) => {
    const shown = asSeen(text);
    // An expected text may begin with a sign that joins the letter before it, and a pattern may say which space it means.
    return seen(shown) || (shown !== text && asWritten(text));
  };
}

/** Nobody sees whether `é` is one character or two, which kind of space there is, as in `3:05 PM`, or by what a line ends. */
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

/** How long what is found of a text may be: with each letter and line end in as many characters as it can have. */
export function longestFound(text: string): number {
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
 * A pattern with catastrophic backtracking would block the process, so what matches one runs as a script of `node:vm`, which V8
 * can interrupt within a match. The function throws what `wasInterrupted` knows when the work takes longer than a second.
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
