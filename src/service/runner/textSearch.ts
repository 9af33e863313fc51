import { createContext, Script } from "node:vm";
import { quoted } from "../../pipeline/parse/problem.ts";
import { formatDuration } from "../../pipeline/schema/duration.ts";
import { describeExpectation, type TextExpectation } from "../../pipeline/schema/values.ts";

/** How long a pattern may take on one text. Even a slow machine needs a small part of it for 10 MB. */
const mostMilliseconds = 1000;

/** Thrown where a pattern of the pipeline file can't be matched. The message is the step's. */
export class PatternFault extends Error {
  override readonly name = "PatternFault";

  /** @param cause what the match threw; V8 compiles a pattern only then, and may find it too large. */
  constructor(expectation: TextExpectation, cause: unknown) {
    const pattern = quoted(describeExpectation(expectation));
    const why = wasInterrupted(cause)
      ? `took longer than ${formatDuration(mostMilliseconds)} on this text; write it without repetition within repetition`
      : "is too large to be matched; write a shorter one";
    super(`the pattern ${pattern} ${why}`, { cause });
  }
}

/**
 * Makes a function that tells whether a text is as expected.
 *
 * A pattern may take forever on a text that nobody thought of, and nothing else happens meanwhile: so it runs as a
 * script of `node:vm`, which V8 interrupts also within a match. A match that
 * fails so, or otherwise, throws a PatternFault.
 */
export function searchFor(expectation: TextExpectation): (text: string) => boolean {
  if (expectation.kind === "contains") return (text) => text.includes(expectation.text);
  const expression = new RegExp(expectation.source, expectation.flags);
  const script = new Script("matches()");
  let lines = "";
  const context = createContext({
    matches: () => lines.split(/\r?\n/).some((line) => expression.test(line)),
  });
  return (text) => {
    lines = text;
    try {
      return script.runInContext(context, { timeout: mostMilliseconds }) === true;
    } catch (error) {
      throw new PatternFault(expectation, error);
    }
  };
}

/** The error is one of the script's own world, where `Error` is another class. */
function wasInterrupted(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
