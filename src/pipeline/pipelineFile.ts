// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as pipeline files write them.
import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import { inputsFileSchema } from "./declaredInputs.ts";
import { describeField, field, fieldNames, needed, noneByDefault, textOf } from "./file/fieldTexts.ts";
import { duration, id, nonEmpty, variableName } from "./file/values.ts";
import { isName } from "./pipeline.ts";
import { includeFileSchema } from "./readSteps.ts";
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
  $schema: field(z.string(), {
    meaning: "Where the JSON Schema of this file lies, for editors. It is not read.",
  }),
  name: field(z.string(), {
    meaning: "The pipeline's name, by which it is run.",
    byDefault: "the file's name without its extension",
    bounds: "a letter or digit, then letters, digits, `.`, `_` and `-`; at most 200 of them",
  }),
  tags: field(z.array(tag), {
    meaning: "Words of your own by which `pipeline run --tag <tag>` runs all pipelines that have it.",
    byDefault: "none",
    bounds: "a list of words of letters, digits, `.`, `_` and `-`",
    values: ["nightly", "smoke"],
  }),
  "time-limit": field(duration, {
    meaning: "How long a run may take. When it is over, the run is stopped.",
    byDefault: `\`${timeLimit.byDefault}s\``,
    bounds: "whole seconds, from `1s` to `1h`",
    values: ["30s", "60s", "5m", "15m", "1h"],
  }),
  "env-file": field(nonEmpty, {
    meaning:
      "A file of environment variables, read when a run begins. It goes before the environment of the run.",
    byDefault: "none; variables come from the environment alone",
    bounds: "a path inside the project's folder",
    values: [".env"],
  }),
  unmasked: field(z.array(variableName), {
    meaning:
      "Variables that are no secrets, such as a port or a stage: their values show as they are. The value of any other that a step refers to shows as `***`.",
    byDefault: "none",
    bounds: "a list of names of environment variables",
  }),
  "finally-limit": field(duration, {
    meaning: "How much of the time limit is for `finally`: the steps before are stopped that much earlier.",
    byDefault: "`5s`",
    bounds: "shorter than the time limit",
    values: ["5s", "10s", "30s"],
  }),
};

const outputs = field(z.record(id, z.unknown()), {
  meaning:
    "What is kept of the run, and what a file that includes this one gets: a map of names to values, which may have expressions.",
  byDefault: "none",
  bounds: "64 KiB as JSON",
});

/** The outermost level; the entries of `inputs`, `resources` and the two lists of steps are checked one by one. */
export const outlineSchema = z.strictObject({
  ...top,
  inputs: z.optional(z.record(z.string(), z.unknown())),
  resources: z.optional(z.record(z.string(), z.unknown())),
  steps: z.array(z.unknown()).check(z.minLength(1)),
  finally: z.optional(z.array(z.unknown()).check(z.minLength(1))),
  outputs,
});

const types = Object.values(resourceTypes);

const stepsSchema = z
  .array(z.union([...types.map(({ file }) => file.step), includeFileSchema]))
  .check(z.minLength(1));

/** The whole file, for the JSON Schema and for completion. */
export const wholeFileSchema = z.strictObject({
  ...top,
  inputs: noneByDefault(
    inputsFileSchema,
    "What a run is given by its name, for `${{ inputs.<name> }}`: a map of names to defaults, or to maps with `type`, `options`, `default` and `description`. They are no secrets.",
  ),
  resources: noneByDefault(
    z.record(z.string(), z.union(types.map(({ file }) => file.resource))),
    "What the steps work with: a map of names of your own to resources, each of a `type`.",
  ),
  steps: needed(stepsSchema, {
    meaning: "What is done, one after the other. The first step that fails fails the run.",
    bounds: "at least one step",
  }),
  finally: field(stepsSchema, {
    meaning:
      "What is done in the end, one step after the other, also when a step before has failed, the time limit is reached or the run is cancelled.",
    byDefault: "nothing",
  }),
  outputs,
});

const knownFields = new Set(fieldNames(wholeFileSchema));

export function isField(name: string): boolean {
  return knownFields.has(name);
}

/**
 * The JSON Schema for completing and checking pipeline files in any editor. It is less strict than the parser. Its
 * descriptions are those that the extension shows.
 */
export function pipelineJsonSchema(): unknown {
  const schema = z.toJSONSchema(wholeFileSchema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const text = textOf(zodSchema);
      if (text !== undefined) jsonSchema.description = describeField(text);
    },
  });
  return { ...schema, title: "A pipeline of Pipeline Runs" };
}
