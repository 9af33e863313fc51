import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import { textExpectationSchema } from "./textExpectation.ts";

/**
 * A pipeline ready to run: names checked, defaults filled in, each step settled against its resource. Only the values
 * of `${{ env.NAME }}` are still missing; the runner fills them in. It is plain JSON, because it travels to the
 * runner's process, and these schemas are what that process checks it with.
 */
const texts = z.record(z.string(), z.string());

/** The resource types of the service (contract: "Limits"), and those of them that this version runs. */
export const resourceTypes = ["http", "sql", "browser", "cli"] as const;
export const runnableTypes = ["http", "cli"] as const;

export const httpMethods = ["get", "post", "put", "patch", "delete", "head"] as const;

/** Runs a program. `run` is a line for the shell, or a program and its arguments without one. */
const cliStepSchema = z.object({
  type: z.literal("cli"),
  name: z.string(),
  /** The resource's name. */
  use: z.string(),
  run: z.union([z.string(), z.array(z.string())]),
  /** Against the project's folder. */
  cwd: z.string(),
  env: texts,
  expect: z.object({ exitCode: z.int(), output: z.optional(textExpectationSchema) }),
});

/** Sends one request and looks at its reply. */
const httpStepSchema = z.object({
  type: z.literal("http"),
  name: z.string(),
  use: z.string(),
  method: z.enum(httpMethods),
  /** The resource's base URL with the step's path put behind it. */
  url: z.string(),
  headers: texts,
  body: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("none") }),
    z.object({ kind: z.literal("text"), text: z.string() }),
    z.object({ kind: z.literal("json"), value: z.unknown() }),
  ]),
  timeoutMilliseconds: z.number(),
  expect: z.object({
    /** Both ends belong to the range. */
    status: z.object({ from: z.int(), to: z.int() }),
    headers: z.record(z.string(), textExpectationSchema),
    /** In an object, so that an expected `null` differs from no expectation. */
    json: z.optional(z.object({ value: z.unknown() })),
    text: z.optional(textExpectationSchema),
    withinMilliseconds: z.optional(z.number()),
  }),
});

const stepSchema = z.discriminatedUnion("type", [cliStepSchema, httpStepSchema]);

export const pipelineSchema = z.object({
  name: z.string(),
  timeLimitSeconds: z.int().check(z.positive(), z.maximum(timeLimit.atMost)),
  resources: z.array(z.object({ name: z.string(), type: z.enum(runnableTypes) })),
  steps: z.array(stepSchema).check(z.minLength(1)),
});

export type CliStep = DeepReadonly<z.infer<typeof cliStepSchema>>;
export type HttpStep = DeepReadonly<z.infer<typeof httpStepSchema>>;
export type Step = CliStep | HttpStep;
export type Pipeline = DeepReadonly<z.infer<typeof pipelineSchema>>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const longestName = 200;

/** Whether a text can name a pipeline or a resource: letters, digits, `.`, `_` and `-`, at most 200 of them. */
export function isName(text: string): boolean {
  return text.length <= longestName && namePattern.test(text);
}
