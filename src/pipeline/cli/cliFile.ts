import * as z from "zod/mini";
import { everyStep, nonEmpty, words } from "../fileParts.ts";

/** The cli resource and its steps as a pipeline file writes them. */

const environment = z.record(
  z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "this can't name an environment variable")),
  words,
);

const aCommand = "expected a line for the shell, or a list of a program and its arguments";

export const cliResourceSchema = z.strictObject({
  type: z.literal("cli"),
  cwd: z.optional(nonEmpty),
  env: z.optional(environment),
});

export const cliStepFileSchema = z.strictObject({
  ...everyStep,
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

export type CliResourceFile = z.infer<typeof cliResourceSchema>;
export type CliStepFile = z.infer<typeof cliStepFileSchema>;
