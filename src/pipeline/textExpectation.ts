import * as z from "zod/mini";

/** What a text must be like: hold some words, or have a line that a regular expression matches. */
export const textExpectationSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("contains"), text: z.string() }),
  z.object({ kind: z.literal("matches"), source: z.string(), flags: z.string() }),
]);

export type TextExpectation = z.infer<typeof textExpectationSchema>;

/** The expectation, or one sentence about a regular expression that can't be read. */
type ReadExpectation =
  | { readonly kind: "valid"; readonly expectation: TextExpectation }
  | { readonly kind: "invalid"; readonly problem: string };

const written = /^\/(.+)\/([a-z]*)$/;
const knownFlags = /^(?:i|u|iu|ui)?$/;

/** Reads what the file says: `/…/` with the flags i and u is a regular expression, anything else words to find. */
export function readTextExpectation(text: string): ReadExpectation {
  const [, source, flags] = written.exec(text) ?? [];
  if (source === undefined || flags === undefined) {
    return { kind: "valid", expectation: { kind: "contains", text } };
  }
  if (!knownFlags.test(flags)) {
    return {
      kind: "invalid",
      problem: `a regular expression takes the flags i and u, not \`${flags}\``,
    };
  }
  try {
    new RegExp(source, flags);
  } catch (error) {
    return { kind: "invalid", problem: error instanceof Error ? lowerFirst(error.message) : String(error) };
  }
  return { kind: "valid", expectation: { kind: "matches", source, flags } };
}

/** The expectation as the file writes it, for a message. */
export function describeExpectation(expectation: TextExpectation): string {
  switch (expectation.kind) {
    case "contains":
      return `\`${expectation.text}\``;
    case "matches":
      return `/${expectation.source}/${expectation.flags}`;
    default:
      return expectation satisfies never;
  }
}

function lowerFirst(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}
