// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as pipeline files write them.
import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import { inputsFileSchema, inputTexts } from "./declaredInputs.ts";
import { type FieldText, type FieldTexts, inside } from "./file/fieldTexts.ts";
import { duration, id, nonEmpty, variableName } from "./file/values.ts";
import { isName } from "./pipeline.ts";
import { includeFileSchema } from "./readSteps.ts";
import { type ResourceTypeName, resourceTypeNames } from "./types/resourceTypeNames.ts";
import { resourceTypes } from "./types/resourceTypes.ts";

const tag = z
  .string()
  .check(
    z.refine(
      isName,
      "a tag begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`",
    ),
  );

/**
 * The pipeline file as it is written. The parser checks it piece by piece, so that each problem is worded for its
 * resource type; the JSON Schema for editors is made of the same pieces.
 */
const top = {
  $schema: z.optional(z.string()),
  name: z.optional(z.string()),
  tags: z.optional(z.array(tag)),
  "time-limit": z.optional(duration),
  "env-file": z.optional(nonEmpty),
  unmasked: z.optional(z.array(variableName)),
  "finally-limit": z.optional(duration),
};

/** The outermost level; the entries of `inputs`, `resources` and the two lists of steps are checked one by one. */
export const outlineSchema = z.strictObject({
  ...top,
  inputs: z.optional(z.record(z.string(), z.unknown())),
  resources: z.optional(z.record(z.string(), z.unknown())),
  steps: z.array(z.unknown()).check(z.minLength(1)),
  finally: z.optional(z.array(z.unknown()).check(z.minLength(1))),
  outputs: z.optional(z.record(id, z.unknown())),
});

const types = Object.values(resourceTypes);

const stepsSchema = z
  .array(z.union([...types.map(({ file }) => file.step), includeFileSchema]))
  .check(z.minLength(1));

/** The whole file, for the JSON Schema. */
export const wholeFileSchema = z.strictObject({
  ...top,
  resources: z.optional(z.record(z.string(), z.union(types.map(({ file }) => file.resource)))),
  inputs: z.optional(inputsFileSchema),
  steps: stepsSchema,
  finally: z.optional(stepsSchema),
  outputs: z.optional(z.record(id, z.unknown())),
});

export const pipelineTexts: FieldTexts = {
  $schema: { meaning: "Where the JSON Schema of this file lies, for editors. It is not read." },
  name: {
    meaning: "The pipeline's name, by which it is run.",
    byDefault: "the file's name without its extension",
    bounds: "a letter or digit, then letters, digits, `.`, `_` and `-`; at most 200 of them",
  },
  tags: {
    meaning: "Words of your own by which `pipeline run --tag <tag>` runs all pipelines that have it.",
    byDefault: "none",
    bounds: "a list of words of letters, digits, `.`, `_` and `-`",
    values: ["nightly", "smoke"],
  },
  "time-limit": {
    meaning: "How long a run may take. When it is over, the run is stopped.",
    byDefault: `\`${timeLimit.byDefault}s\``,
    bounds: "whole seconds, from `1s` to `1h`",
    values: ["30s", "60s", "5m", "15m", "1h"],
  },
  "env-file": {
    meaning:
      "A file of environment variables, read when a run begins. It goes before the environment of the run.",
    byDefault: "none; variables come from the environment alone",
    bounds: "a path inside the project's folder",
    values: [".env"],
  },
  unmasked: {
    meaning:
      "Variables that are no secrets, such as a port or a stage: their values show as they are. The value of any other that a step refers to shows as `***`.",
    byDefault: "none",
    bounds: "a list of names of environment variables",
  },
  inputs: {
    meaning:
      "What a run is given by its name, for `${{ inputs.<name> }}`: a map of names to defaults, or to maps with `type`, `options`, `default` and `description`. They are no secrets.",
    byDefault: "none",
  },
  ...inside("inputs", inputTexts),
  resources: {
    meaning: "What the steps work with: a map of names of your own to resources, each of a `type`.",
    byDefault: "none",
  },
  steps: {
    meaning: "What is done, one after the other. The first step that fails fails the run.",
    bounds: "at least one step",
  },
  finally: {
    meaning:
      "What is done in the end, one step after the other, also when a step before has failed, the time limit is reached or the run is cancelled.",
    byDefault: "nothing",
  },
  "finally-limit": {
    meaning: "How much of the time limit is for `finally`: the steps before are stopped that much earlier.",
    byDefault: "`5s`",
    bounds: "shorter than the time limit",
    values: ["5s", "10s", "30s"],
  },
  outputs: {
    meaning:
      "What is kept of the run, and what a file that includes this one gets: a map of names to values, which may have expressions.",
    byDefault: "none",
    bounds: "64 KiB as JSON",
  },
};

const controlTexts: FieldTexts = {
  id: {
    meaning: "The name by which later steps read its result: `${{ steps.<id>.json.total }}`.",
    byDefault: "none",
    bounds: "letters, digits, `_` and `-`",
  },
  if: {
    meaning: "An expression. If it is false, the step is skipped.",
    byDefault: "`true`",
    values: ["inputs.", "exists(steps."],
  },
  "on-failure": {
    meaning: "With `continue`, the run goes on when this step fails, and ends as failed.",
    byDefault: "the run ends here",
    values: ["continue"],
  },
};

export const includeTexts: FieldTexts = {
  ...controlTexts,
  name: { meaning: "What the part is called wherever it is shown.", byDefault: "its path" },
  include: {
    meaning:
      "A pipeline file whose steps run here, by its path in the project's folder. Its `outputs` are what the `id` of this step has. Where this file has a resource of the same name and type, the part's steps work with that.",
    values: ["parts/login.yaml"],
  },
  inputs: { meaning: "What the part's inputs are.", byDefault: "their defaults" },
};

export const everyStepTexts: FieldTexts = {
  ...controlTexts,
  each: {
    meaning:
      "A list, or an expression that is one. The step runs once for each item, `${{ each.value }}`, and its result is the list of theirs.",
    byDefault: "the step runs once",
    bounds: "at most 1000 items",
  },
  retry: {
    meaning:
      "The step runs again and again until it succeeds: `for` a length of time, or at most so many `times`. The last attempt counts.",
    byDefault: "one attempt",
  },
  "retry.for": { meaning: "How long it is tried, from the first attempt on.", values: ["10s", "30s", "1m"] },
  "retry.times": { meaning: "How often it is tried.", bounds: "1 to 1000", values: ["3", "5"] },
  "retry.every": {
    meaning: "The pause between two attempts.",
    byDefault: "`1s`",
    values: ["500ms", "1s", "5s"],
  },
  mask: {
    meaning: "Paths in the step's result whose values are secrets, such as `json.token`: they show as `***`.",
    byDefault: "none",
  },
  "expect.that": {
    meaning: "An expression, or a list of them, that has to be true of the result, `this`.",
    byDefault: "none",
    values: ["this."],
  },
  name: {
    meaning: "What the step is called wherever it is shown.",
    byDefault: "its action, such as `GET /health`",
  },
  use: {
    meaning:
      "The name of the resource that the step works with. Its type decides what else the step can have.",
  },
};

const listed = new Intl.ListFormat("en", { type: "disjunction" }).format(
  resourceTypeNames.map((name) => `\`${name}\``),
);

/** A resource's `type`, whatever its type. */
export const typeText: FieldText = {
  meaning: "What kind of thing the resource is; it decides what the steps that use it can do.",
  bounds: listed,
};

/** The texts of a resource's fields, by its type. */
export function resourceTexts(name: ResourceTypeName): FieldTexts {
  return { type: typeText, ...resourceTypes[name].texts.resource };
}

/** The texts of a step's fields, by its resource's type. */
export function stepTexts(name: ResourceTypeName): FieldTexts {
  return { ...everyStepTexts, ...resourceTypes[name].texts.step };
}

const knownFields = new Set(
  [
    pipelineTexts,
    includeTexts,
    ...resourceTypeNames.flatMap((name) => [resourceTexts(name), stepTexts(name)]),
  ]
    .flatMap((texts) => Object.keys(texts))
    .map((path) => path.split(".").at(-1)),
);

/** Whether any part of a pipeline file has a field of this name. */
export function isField(name: string): boolean {
  return knownFields.has(name);
}
