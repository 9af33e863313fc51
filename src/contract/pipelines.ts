import * as z from "zod/mini";
import { lenientBut } from "./fields.ts";

/** The most inputs of a start, and the most characters of a text input. */
const mostInputs = 100;
export const longestInput = 64 * 1024;

/** Any control character except line breaks and tabs. */
const controlCharacter = /(?![\n\r\t])\p{Cc}/u;

export const inputNamePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/;

const inputValueSchema = z.union(
  [
    z.string().check(
      z.maxLength(longestInput),
      // The value is shown wherever the run is, and clients drop control characters from what they show.
      z.refine((text) => !controlCharacter.test(String(text)), "it holds a control character"),
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

/** The inputs that a start request gives. The pipeline file's declarations decide whether they fit. */
export const givenInputsSchema = z
  .record(
    z.string().check(z.regex(inputNamePattern, "an input's name has letters, digits, `_` and `-`")),
    inputValueSchema,
  )
  .check(z.refine((inputs) => Object.keys(inputs).length <= mostInputs, `at most ${mostInputs} inputs`));

/** An input as a pipeline's file declares it. */
const declaredInputSchema = z.object({
  name: z.string(),
  /** `text`, `number` or `boolean`. */
  type: z.string(),
  options: z.optional(z.array(inputValueSchema)),
  /** Absent if there is no default, or only a run can evaluate it. */
  default: z.optional(inputValueSchema),
  description: z.optional(z.string()),
  /** Whether a start has to give it. */
  required: z.boolean(),
});

export type DeclaredInput = z.infer<typeof declaredInputSchema>;

/** An input as the command line writes it and as the run list filters by it. */
export function inputText(name: string, value: InputValue): string {
  return `${name}=${value}`;
}

/** The inputs that repeat this run: all except those that a run evaluates when it begins. */
export function inputsForRerun(run: {
  readonly inputs?: InputValues | undefined;
  readonly evaluatedInputs?: readonly string[] | undefined;
}): InputValues {
  const { inputs = {}, evaluatedInputs = [] } = run;
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => !evaluatedInputs.includes(name)));
}

/** An entry of `GET /api/pipelines`. `problem` says why a broken file can't run: one line per problem, with its position. */
const servedEntrySchema = z.object({
  name: z.string(),
  project: z.string(),
  path: z.string(),
  resourceTypes: z.array(z.string()),
  /** The inputs that the file declares; empty for a broken file. */
  inputs: z.array(declaredInputSchema),
  /** For `pipeline run --tag`; empty for a broken file. */
  tags: z.array(z.string()),
  problem: z.optional(z.string()),
});

/** The same as a client reads it: a start needs only the name. */
const pipelineEntrySchema = lenientBut(servedEntrySchema, ["name"]);

/** `GET /api/pipelines` as this project's service answers it, and as a client reads it. */
export const servedPipelineListSchema = z.object({ pipelines: z.array(servedEntrySchema) });
export const pipelineListSchema = z.object({ pipelines: z.array(pipelineEntrySchema) });

/** A project's name goes into tables, so it has no control characters. */
export const projectNameSchema = z
  .string()
  .check(z.minLength(1), z.maxLength(200), z.regex(/^\P{Cc}*$/u, "it has control characters"));

/** `PUT /api/projects/{name}`: the body and the reply. `root` is an absolute folder. */
export const projectRequestSchema = z.strictObject({ root: z.string().check(z.minLength(1)) });
export const projectSchema = z.object({ name: z.string(), root: z.string() });
export const projectListSchema = z.object({ projects: z.array(projectSchema) });

export type ServedPipelineEntry = z.infer<typeof servedEntrySchema>;
export type PipelineEntry = z.infer<typeof pipelineEntrySchema>;
export type PipelineList = z.infer<typeof pipelineListSchema>;
export type Project = z.infer<typeof projectSchema>;
