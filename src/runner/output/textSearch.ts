import { createContext, Script } from "node:vm";
import { describeExpectation, type TextExpectation } from "../../pipeline/file/values.ts";
import { quoted } from "../../pipeline/mistakes/problem.ts";
import { duration } from "../../text/time.ts";

/** How long a pattern may take on one text. A slow machine needs far less for 10 MB. */
const mostMilliseconds = 1000;

/** Thrown when a text can't be searched for what the pipeline file expects. The message is for people. */
export class PatternFault extends Error {
  override readonly name = "PatternFault";
}

/** @param cause what the match threw. V8 compiles a pattern at its first match, and may find it too large. */
function faultOf(expectation: TextExpectation, cause: unknown): PatternFault {
  const pattern = quoted(describeExpectation(expectation));
  const why = wasInterrupted(cause)
    ? `took longer than ${duration(mostMilliseconds)} on this text; write it without repetition within repetition`
    : "is too large to be matched; write a shorter one";
  return new PatternFault(`the pattern ${pattern} ${why}`, { cause });
}

/**
 * Makes a function that says whether a text matches the expectation.
 *
 * A pattern with catastrophic backtracking would block the process, so it runs as a script of `node:vm`, which V8 can
 * interrupt within a match. The function throws PatternFault then.
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
      throw faultOf(expectation, error);
    }
  };
}

/** Not by `instanceof`: the script's context has its own `Error` class. */
function wasInterrupted(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
  );
}
