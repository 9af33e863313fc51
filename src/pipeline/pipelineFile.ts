import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import type { FieldText, FieldTexts } from "./file/fieldTexts.ts";
import { duration, nonEmpty, variableName } from "./file/values.ts";
import { type ResourceTypeName, resourceTypeNames, resourceTypes } from "./types/resourceTypes.ts";

/**
 * The pipeline file as it is written. The parser checks it piece by piece, so that each problem is worded for its
 * resource type; the JSON Schema for editors is made of the same pieces.
 */
const top = {
  $schema: z.optional(z.string()),
  name: z.optional(z.string()),
  "time-limit": z.optional(duration),
  "env-file": z.optional(nonEmpty),
  unmasked: z.optional(z.array(variableName)),
};

/** The outermost level; the entries of `resources` and `steps` are checked one by one. */
export const outlineSchema = z.strictObject({
  ...top,
  resources: z.optional(z.record(z.string(), z.unknown())),
  steps: z.array(z.unknown()).check(z.minLength(1)),
});

const types = Object.values(resourceTypes);

/** The whole file, for the JSON Schema. */
export const wholeFileSchema = z.strictObject({
  ...top,
  resources: z.record(z.string(), z.union(types.map(({ file }) => file.resource))),
  steps: z.array(z.union(types.map(({ file }) => file.step))).check(z.minLength(1)),
});

/** The outermost fields of the file. */
export const pipelineTexts: FieldTexts = {
  $schema: { meaning: "Where the JSON Schema of this file lies, for editors. It is not read." },
  name: {
    meaning: "The pipeline's name, by which it is run.",
    byDefault: "the file's name without its extension",
    bounds: "a letter or digit, then letters, digits, `.`, `_` and `-`; at most 200 of them",
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
  resources: {
    meaning: "What the steps work with: a map of names of your own to resources, each of a `type`.",
    byDefault: "none",
  },
  steps: {
    meaning: "What is done, one after the other. The first step that fails fails the run.",
    bounds: "at least one step",
  },
};

/** What every step has, whatever its resource. */
export const everyStepTexts: FieldTexts = {
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
  [pipelineTexts, ...resourceTypeNames.flatMap((name) => [resourceTexts(name), stepTexts(name)])]
    .flatMap((texts) => Object.keys(texts))
    .map((path) => path.split(".").at(-1)),
);

/** Whether any part of a pipeline file has a field of this name. */
export function isField(name: string): boolean {
  return knownFields.has(name);
}
