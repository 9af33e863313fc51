// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import * as z from "zod/mini";
import { durationPattern } from "./duration.ts";
import { field, needed, noneByDefault } from "./fieldTexts.ts";

/** The values that several resource types have in common, as the file writes them and ready to run. */

export const nonEmpty = z.string().check(z.minLength(1, "this text is empty"));

export const variableName = z
  .string()
  .check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this can't name an environment variable"));

const aDuration = "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds";
export const duration = z.union(
  [z.string().check(z.regex(durationPattern, aDuration)), z.number().check(z.nonnegative(aDuration))],
  aDuration,
);

/** A field that says how long something may take. */
export function timeoutField(meaning: string, byDefault: string): z.ZodMiniOptional<typeof duration> {
  const values = ["1s", "5s", "10s", "30s", "1m"];
  return field(duration, { meaning, byDefault, bounds: "from `1ms` to `1h`", values });
}

/** A value that is used as text: YAML reads `8080` and `true` as a number and a boolean, but they are meant as written. */
export const words = z.union([z.string(), z.number(), z.boolean()], "expected text");

/** Texts that something has to hold, all of them. */
export const expectedWords = z.union(
  [words, z.array(words).check(z.minLength(1))],
  "expected text, or a list of texts",
);

const anId = "an `id` begins with a letter or `_` and goes on with letters, digits, `_` and `-`";
/** Names that expressions read, after a dot: of a step, an input and an output. */
export const idPattern = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]{0,99}$/;
export const id = z.string().check(z.regex(idPattern, anId));

/** An expression without its `${{ }}`. */
const condition = z.union([nonEmpty, z.boolean()], "expected an expression, such as `inputs.visit`");

/** Expressions that have to be true of a step, besides what its type checks. */
export const that = field(
  z.union([condition, z.array(condition).check(z.minLength(1))], "expected an expression, or a list of them"),
  {
    meaning: "An expression, or a list of them, that has to be true of the result, `this`.",
    byDefault: "none",
    values: ["this."],
  },
);

const aRetry = "expected `{ for: 30s, every: 1s }` or `{ times: 3, every: 1s }`";

/** The fields of every step, whether it uses a resource or includes a part. */
export const everyControl = {
  id: field(id, {
    meaning: "The name by which later steps read its result: `${{ steps.<id>.json.total }}`.",
    byDefault: "none",
    bounds: "letters, digits, `_` and `-`",
  }),
  name: field(nonEmpty, {
    meaning: "What the step is called wherever it is shown.",
    byDefault: "its action, such as `GET /health`",
  }),
  if: field(condition, {
    meaning: "An expression. If it is false, the step is skipped.",
    byDefault: "`true`",
    values: ["inputs.", "exists(steps."],
  }),
  "on-failure": field(z.literal("continue", "expected `continue`; without it, the run ends here"), {
    meaning: "With `continue`, the run goes on when this step fails, and ends as failed.",
    byDefault: "the run ends here",
    values: ["continue"],
  }),
};

/** The fields of every step that uses a resource, whatever its type. */
export const everyStep = {
  ...everyControl,
  use: needed(z.string(), {
    meaning:
      "The name of the resource that the step works with. Its type decides what else the step can have.",
  }),
  each: field(z.union([nonEmpty, z.array(z.unknown())], "expected a list, or an expression that is one"), {
    meaning:
      "A list, or an expression that is one. The step runs once for each item, `${{ each.value }}`, and its result is the list of theirs.",
    byDefault: "the step runs once",
    bounds: "at most 1000 items",
  }),
  retry: field(
    z.strictObject(
      {
        for: field(duration, {
          meaning: "How long it is tried, from the first attempt on.",
          values: ["10s", "30s", "1m"],
        }),
        times: field(z.int().check(z.minimum(1), z.maximum(1000)), {
          meaning: "How often it is tried.",
          bounds: "1 to 1000",
          values: ["3", "5"],
        }),
        every: field(duration, {
          meaning: "The pause between two attempts.",
          byDefault: "`1s`",
          values: ["500ms", "1s", "5s"],
        }),
      },
      aRetry,
    ),
    {
      meaning:
        "The step runs again and again until it succeeds: `for` a length of time, or at most so many `times`. The last attempt counts.",
      byDefault: "one attempt",
    },
  ),
  mask: noneByDefault(
    z.array(nonEmpty).check(z.minLength(1)),
    "Paths in the step's result whose values are secrets, such as `json.token`: they show as `***`.",
  ),
};

/** The fields of every step, ready to run. Expressions are as they are written, since their values are known only then. */
export interface PlannedStep {
  readonly name: string;
  readonly use: string;
  /** The name by which expressions find its result. */
  readonly id?: string | undefined;
  /** The index of the part that it belongs to in `Pipeline.parts`; undefined for a step of the file itself. */
  readonly part?: number | undefined;
  /** Whether it runs after all others, even when they failed or were stopped. */
  readonly isCleanup?: true | undefined;
  /** An expression; if it is false, the step is skipped. */
  readonly if?: string | undefined;
  /** A list, or a text with an expression for one: the step runs once for each of its items. */
  readonly each?: unknown;
  readonly retry?:
    | {
        /** How long it is tried, from the beginning of the first attempt. */
        readonly forMilliseconds?: number | undefined;
        /** How often it is tried, the first attempt included. */
        readonly times?: number | undefined;
        /** From the end of an attempt to the next one. */
        readonly everyMilliseconds: number;
      }
    | undefined;
  /** Whether the run goes on when it fails, and fails in the end. */
  readonly goesOn?: true | undefined;
  /** Paths in its result whose values are secrets, such as `json.token`. */
  readonly mask?: readonly string[] | undefined;
  /** Expressions that have to be true of its result, `this`. */
  readonly that?: readonly string[] | undefined;
}

/** What every step may have, whatever its type, besides its name and its resource. */
export type Plan = Omit<PlannedStep, "name" | "use">;

/** How the numbers of a value are written; for a list or a map, by the places of those items that have any, from 0. */
export type WrittenDigits = string | { readonly [place: string]: WrittenDigits };

const aStatus = "expected a number from 100 to 599, or a kind of status such as 2xx";

/** An expected HTTP status as the file writes it: `404`, `2xx`. @param several the problem of a list. */
export const statusFileSchema = (several = aStatus) =>
  z.union(
    [
      z.int(aStatus).check(z.minimum(100, aStatus), z.maximum(599, aStatus)),
      z.string().check(z.regex(/^[1-5]xx$/, aStatus)),
    ],
    { error: ({ input }) => (Array.isArray(input) ? several : aStatus) },
  );

/** Both ends are inclusive. */
export interface StatusRange {
  readonly from: number;
  readonly to: number;
}

/** One expectation of a text: that it contains a text, or that a line matches a regular expression. */
export type TextExpectation =
  | { readonly kind: "contains"; readonly text: string }
  | { readonly kind: "matches"; readonly source: string; readonly flags: string };

/** An address as the file writes it: a whole one, or a path below that of its resource. Each may contain references. */
export interface Address {
  readonly base?: string | undefined;
  readonly target: string;
}
