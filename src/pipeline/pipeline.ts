import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import type { DeepReadonly } from "./file/values.ts";
import type { Place, Problem } from "./mistakes/problem.ts";
import { resourceTypeNames } from "./types/resourceTypeNames.ts";
import { stepSchema } from "./types/resourceTypes.ts";

export const inputTypes = ["text", "number", "boolean"] as const;

/** A value of an input: what a start gives, or the file's own. */
export const inputValue = z.union([z.string(), z.number(), z.boolean()]);
export type InputValue = z.infer<typeof inputValue>;

const inputSchema = z.object({
  name: z.string(),
  type: z.enum(inputTypes),
  /** The values that it may have; undefined for any of its type. */
  options: z.optional(z.array(inputValue).check(z.minLength(1))),
  /** Undefined where it has to be given. A text may have expressions with `env` and `run`. */
  default: z.optional(inputValue),
  description: z.optional(z.string()),
});

/** A value that a run is given by its name. */
export type Input = DeepReadonly<z.infer<typeof inputSchema>>;

/** Texts or values with expressions, by their names. */
const written = z.record(z.string(), z.unknown());

/**
 * Another pipeline file whose steps are a step of this one. They stand in `Pipeline.steps` one after the other; its cleanup steps
 * come after those of the file that includes it.
 */
const partSchema = z.object({
  name: z.string(),
  /** The part that includes it; undefined for the file itself. */
  parent: z.optional(z.int()),
  /** As of a step: see `plannedStep`. Expressions in them and in `given` are the includer's. */
  id: z.optional(z.string()),
  if: z.optional(z.string()),
  goesOn: z.optional(z.literal(true)),
  /** It stands in `finally`. */
  isCleanup: z.optional(z.literal(true)),
  /** What the includer gives for its inputs. */
  given: written,
  inputs: z.array(inputSchema),
  /** What its id has, with expressions of its own. */
  outputs: written,
});

/**
 * A pipeline ready to run: names are checked, defaults applied, each step is resolved against its resource, and parts are put in
 * place. Only the values of expressions are missing, which the runner fills in. It is plain JSON, since it is sent to the runner's
 * process.
 */
export const pipelineSchema = z.object({
  name: z.string(),
  /** By which `pipeline run --tag` finds it. */
  tags: z.optional(z.array(z.string())),
  timeLimitSeconds: z.int().check(z.positive(), z.maximum(timeLimit.atMost)),
  /** A file of variables, relative to the project's folder. The runner reads it. */
  envFile: z.optional(z.string()),
  /** The variables whose values are no secrets. */
  unmasked: z.optional(z.array(z.string())),
  resources: z.array(z.object({ name: z.string(), type: z.enum(resourceTypeNames) })),
  inputs: z.optional(z.array(inputSchema)),
  parts: z.optional(z.array(partSchema)),
  /** In the order in which they run; those that clean up are the last. */
  steps: z.array(stepSchema).check(z.minLength(1)),
  /** How much of the time limit is the cleanup's, in milliseconds; undefined where nothing cleans up. */
  cleanupMilliseconds: z.optional(z.number()),
  /** What is kept of the run, with expressions. */
  outputs: z.optional(written),
});

export type Pipeline = DeepReadonly<z.infer<typeof pipelineSchema>>;

/** A pipeline file as it was read. */
export type ParsedPipeline =
  | {
      readonly kind: "valid";
      readonly pipeline: Pipeline;
      /** What runs but is likely a mistake. */
      readonly warnings: readonly Problem[];
      /** The texts of its parts, by their paths in the project's folder. */
      readonly parts: ReadonlyMap<string, string>;
      /** The position of its name; the file's beginning when the file has none. */
      readonly nameAt: Place;
      /** The position of its `env-file`, likewise. */
      readonly envFileAt: Place;
    }
  | { readonly kind: "invalid"; readonly problems: readonly [Problem, ...Problem[]] };

/** What a start or a list needs of one. */
export type PipelineOrProblems =
  | Pick<Extract<ParsedPipeline, { kind: "valid" }>, "kind" | "pipeline">
  | Extract<ParsedPipeline, { kind: "invalid" }>;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const longestName = 200;

/** Whether a text can be a tag, or the name of a pipeline or a resource: at most 200 letters, digits, `.`, `_` and `-`. */
export function isName(text: string): boolean {
  return text.length <= longestName && namePattern.test(text);
}
