import * as z from "zod/mini";
import { durationPattern } from "./duration.ts";

/** The values that several resource types have in common, as the file writes them and ready to run. */

export const nonEmpty = z.string().check(z.minLength(1, "this text is empty"));

/** The name of an environment variable. */
export const variableName = z
  .string()
  .check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this can't name an environment variable"));

const aDuration = "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds";
export const duration = z.union(
  [z.string().check(z.regex(durationPattern, aDuration)), z.number().check(z.nonnegative(aDuration))],
  aDuration,
);

/** A value that is used as text: YAML reads `8080` and `true` as a number and a boolean, but they are meant as written. */
export const words = z.union([z.string(), z.number(), z.boolean()], "expected text");

/** The fields of every step, whatever its type. */
export const everyStep = { name: z.optional(nonEmpty), use: z.string() };

export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

const aStatus = "expected a status from 100 to 599, or a kind of status such as 2xx";

/** An expected HTTP status as the file writes it: `404`, `2xx`. */
export const statusFileSchema = z.union(
  [
    z.int(aStatus).check(z.minimum(100, aStatus), z.maximum(599, aStatus)),
    z.string().check(z.regex(/^[1-5]xx$/, aStatus)),
  ],
  aStatus,
);

/** Both ends are inclusive. */
export const statusRangeSchema = z.object({ from: z.int(), to: z.int() });

export type StatusRange = Readonly<z.infer<typeof statusRangeSchema>>;

export function readStatus(written: string | number): StatusRange {
  if (typeof written === "number") return { from: written, to: written };
  const hundred = Number(written.slice(0, 1)) * 100;
  return { from: hundred, to: hundred + 99 };
}

/** The range as the file writes it. */
export function describeStatus({ from, to }: StatusRange): string {
  return from === to ? `${from}` : `${Math.floor(from / 100)}xx`;
}

/** An expectation of a text: that it contains a text, or that a line matches a regular expression. */
export const textExpectationSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("contains"), text: z.string() }),
  z.object({ kind: z.literal("matches"), source: z.string(), flags: z.string() }),
]);

export type TextExpectation = z.infer<typeof textExpectationSchema>;

/** The expectation, or the problem of an invalid regular expression. */
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
    default:
      return expectation satisfies never;
  }
}

function lowerFirst(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}
