import * as z from "zod/mini";

/** The most inputs of a start, and the most characters of a text among them. */
const mostInputs = 100;
export const longestInput = 64 * 1024;

/** Any but those of lines and tabs. */
const unshown = /(?![\n\r\t])\p{Cc}/u;

export const inputNamePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/;

const inputValueSchema = z.union(
  [
    z.string().check(
      z.maxLength(longestInput),
      // It is shown wherever the run is, and clients drop such characters from what they show.
      z.refine((text) => !unshown.test(String(text)), "it holds a control character"),
    ),
    z.number(),
    z.boolean(),
  ],
  "it should be a text, a number, true or false",
);

export type InputValue = z.infer<typeof inputValueSchema>;
export type InputValues = Readonly<Record<string, InputValue>>;

/** Values of inputs by their names, as a run shows them. */
export const inputValuesSchema = z.record(z.string(), inputValueSchema);

/** Those that a start gives. What the pipeline's file declares decides whether they fit. */
export const givenInputsSchema = z
  .record(
    z.string().check(z.regex(inputNamePattern, "an input's name has letters, digits, `_` and `-`")),
    inputValueSchema,
  )
  .check(z.refine((inputs) => Object.keys(inputs).length <= mostInputs, `at most ${mostInputs} inputs`));

/** An input as a pipeline's file declares it. */
export const declaredInputSchema = z.object({
  name: z.string(),
  /** `text`, `number` or `boolean`. */
  type: z.string(),
  options: z.optional(z.array(inputValueSchema)),
  /** Absent where there is none, and where only a run knows it. */
  default: z.optional(inputValueSchema),
  description: z.optional(z.string()),
  /** Whether a start has to give it. */
  required: z.boolean(),
});

export type DeclaredInput = z.infer<typeof declaredInputSchema>;

/** A value as the command line writes it, and as runs are looked for by it. */
export function inputText(name: string, value: InputValue): string {
  return `${name}=${value}`;
}

/** What a new run is given to go like this one: all but what a run finds out by itself when it begins. */
export function inputsAgain(run: {
  readonly inputs?: InputValues | undefined;
  readonly evaluatedInputs?: readonly string[] | undefined;
}): InputValues {
  const { inputs = {}, evaluatedInputs = [] } = run;
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => !evaluatedInputs.includes(name)));
}
