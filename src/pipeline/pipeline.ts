import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import type { DeepReadonly } from "./file/values.ts";
import { resourceTypeNames, stepSchema } from "./types/resourceTypes.ts";

/**
 * A pipeline ready to run: names are checked, defaults applied, and each step is resolved against its resource. Only the
 * values of `${{ env.NAME }}` are missing, which the runner inserts. It is plain JSON, since it is sent to the runner's
 * process.
 */
export const pipelineSchema = z.object({
  name: z.string(),
  timeLimitSeconds: z.int().check(z.positive(), z.maximum(timeLimit.atMost)),
  /** A file of variables, relative to the project's folder. The runner reads it. */
  envFile: z.optional(z.string()),
  /** The variables whose values are no secrets. */
  unmasked: z.optional(z.array(z.string())),
  resources: z.array(z.object({ name: z.string(), type: z.enum(resourceTypeNames) })),
  steps: z.array(stepSchema).check(z.minLength(1)),
});

export type Pipeline = DeepReadonly<z.infer<typeof pipelineSchema>>;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const longestName = 200;

/** Whether a text can be the name of a pipeline or a resource: at most 200 letters, digits, `.`, `_` and `-`. */
export function isName(text: string): boolean {
  return text.length <= longestName && namePattern.test(text);
}
