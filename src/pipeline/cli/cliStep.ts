import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { textExpectationSchema } from "../textExpectation.ts";

/** A step that runs a program, settled against its resource and ready to run. */
export const cliStepSchema = z.object({
  type: z.literal("cli"),
  name: z.string(),
  /** The resource's name. */
  use: z.string(),
  /** A line for the shell, or a program and its arguments without one. */
  run: z.union([z.string(), z.array(z.string())]),
  /** Against the project's folder. */
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  expect: z.object({ exitCode: z.int(), output: z.optional(textExpectationSchema) }),
});

export type CliStep = DeepReadonly<z.infer<typeof cliStepSchema>>;
