import type { StatusRange, TextExpectation } from "./values.ts";

/** What a cli step's `expect` finds texts in; `output` is both of the others. */
export const outputs = ["output", "stdout", "stderr"] as const;

export function readStatus(written: string | number): StatusRange {
  if (typeof written === "number") return { from: written, to: written };
  const hundred = Number(written.slice(0, 1)) * 100;
  return { from: hundred, to: hundred + 99 };
}

export function describeStatus({ from, to }: StatusRange): string {
  return from === to ? `${from}` : `${Math.floor(from / 100)}xx`;
}

type ReadExpectation =
  | { readonly kind: "valid"; readonly expectation: TextExpectation }
  | { readonly kind: "invalid"; readonly problem: string };

const written = /^\/(.+)\/([a-z]*)$/;
const knownFlags = /^(?:i|u|iu|ui)?$/;

/** Parses an expectation: `/…/` with the flags i and u is a regular expression, anything else a text to find. */
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
  }
}

function lowerFirst(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}
