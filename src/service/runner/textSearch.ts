import { createContext, Script } from "node:vm";
import { formatDuration } from "../../pipeline/duration.ts";
import { describeExpectation, type TextExpectation } from "../../pipeline/textExpectation.ts";

/** How long a pattern may take on one text. Even a slow machine needs a small part of it for 10 MB. */
const mostMilliseconds = 1000;

/** Thrown where a pattern of the pipeline file takes too long. The message is the step's. */
export class SlowPattern extends Error {
  override readonly name = "SlowPattern";

  constructor(expectation: TextExpectation) {
    const pattern = describeExpectation(expectation);
    super(
      `the pattern ${pattern} took longer than ${formatDuration(mostMilliseconds)} on this text; write it without repetition within repetition`,
    );
  }
}

/**
 * Makes a function that tells whether a text is as expected.
 *
 * A pattern may take forever on a text that nobody thought of, and nothing else happens meanwhile: so it runs as a
 * script of `node:vm`, which V8 interrupts also within a match. Then the function throws a SlowPattern.
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
      throw wasInterrupted(error) ? new SlowPattern(expectation) : error;
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
