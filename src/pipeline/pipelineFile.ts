import * as z from "zod/mini";
import { durationPattern } from "./duration.ts";

/**
 * The pipeline file as it is written, one schema a kind of thing. The parser checks with these piece by piece, so that
 * a problem is told in the words of the resource type it is about; the JSON Schema for editors is made of the same.
 */
const nonEmpty = z.string().check(z.minLength(1, "this text is empty"));
const aDuration = "expected a length of time such as 500ms, 60s, 5m or 1h, or a number of seconds";
const duration = z.union(
  [z.string().check(z.regex(durationPattern, aDuration)), z.number().check(z.nonnegative(aDuration))],
  aDuration,
);
/** What becomes a text: YAML reads `8080` and `true` as something else, but here they are meant as written. */
const words = z.union([z.string(), z.number(), z.boolean()], "expected text");
const environment = z.record(
  z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this can't name an environment variable")),
  words,
);
const headers = z.record(
  z.string().check(z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "this can't name an HTTP header")),
  words,
);
const aStatus = "expected a status from 100 to 599, or a kind of status such as 2xx";
const status = z.union(
  [
    z.int(aStatus).check(z.minimum(100, aStatus), z.maximum(599, aStatus)),
    z.string().check(z.regex(/^[1-5]xx$/, aStatus)),
  ],
  aStatus,
);
const aCommand = "expected a line for the shell, or a list of a program and its arguments";

export const httpResourceSchema = z.strictObject({
  type: z.literal("http"),
  "base-url": z.optional(nonEmpty),
  headers: z.optional(headers),
  timeout: z.optional(duration),
});

export const cliResourceSchema = z.strictObject({
  type: z.literal("cli"),
  cwd: z.optional(nonEmpty),
  env: z.optional(environment),
});

export const httpStepFileSchema = z.strictObject({
  name: z.optional(nonEmpty),
  use: z.string(),
  get: z.optional(nonEmpty),
  post: z.optional(nonEmpty),
  put: z.optional(nonEmpty),
  patch: z.optional(nonEmpty),
  delete: z.optional(nonEmpty),
  head: z.optional(nonEmpty),
  headers: z.optional(headers),
  body: z.optional(words),
  json: z.optional(z.unknown()),
  timeout: z.optional(duration),
  expect: z.optional(
    z.strictObject({
      status: z.optional(status),
      headers: z.optional(headers),
      json: z.optional(z.unknown()),
      text: z.optional(words),
      time: z.optional(duration),
    }),
  ),
});

export const cliStepFileSchema = z.strictObject({
  name: z.optional(nonEmpty),
  use: z.string(),
  run: z.optional(z.union([nonEmpty, z.array(words).check(z.minLength(1, aCommand))], aCommand)),
  cwd: z.optional(nonEmpty),
  env: z.optional(environment),
  expect: z.optional(
    z.strictObject({
      "exit-code": z.optional(z.int().check(z.nonnegative())),
      output: z.optional(words),
    }),
  ),
});

const top = {
  $schema: z.optional(z.string()),
  name: z.optional(z.string()),
  "time-limit": z.optional(duration),
};

/** The file's outermost level; what stands in `resources` and `steps` is checked entry by entry. */
export const outlineSchema = z.strictObject({
  ...top,
  resources: z.optional(z.record(z.string(), z.unknown())),
  steps: z.array(z.unknown()).check(z.minLength(1)),
});

const wholeFileSchema = z.strictObject({
  ...top,
  resources: z.record(z.string(), z.union([httpResourceSchema, cliResourceSchema])),
  steps: z.array(z.union([httpStepFileSchema, cliStepFileSchema])).check(z.minLength(1)),
});

export type HttpResourceFile = z.infer<typeof httpResourceSchema>;
export type CliResourceFile = z.infer<typeof cliResourceSchema>;
export type HttpStepFile = z.infer<typeof httpStepFileSchema>;
export type CliStepFile = z.infer<typeof cliStepFileSchema>;

/** The JSON Schema with which an editor completes and checks pipeline files. The parser knows more than it can say. */
export function pipelineJsonSchema(): unknown {
  return { ...z.toJSONSchema(wholeFileSchema, { io: "input" }), title: "A pipeline of Pipeline Runs" };
}
