import * as z from "zod/mini";
import { timeLimit } from "../contract/limits.ts";
import type { DeepReadonly } from "./schema/values.ts";
import { resourceTypeNames, stepSchema } from "./types/resourceTypes.ts";

/**
 * A pipeline ready to run: names checked, defaults filled in, each step settled against its resource. Only the values
 * of `${{ env.NAME }}` are still missing; the runner fills them in. It is plain JSON, because it travels to the
 * runner's process, and this schema is what that process checks it with.
 */
export const pipelineSchema = z.object({
  name: z.string(),
  timeLimitSeconds: z.int().check(z.positive(), z.maximum(timeLimit.atMost)),
  resources: z.array(z.object({ name: z.string(), type: z.enum(resourceTypeNames) })),
  steps: z.array(stepSchema).check(z.minLength(1)),
});

export type Pipeline = DeepReadonly<z.infer<typeof pipelineSchema>>;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const longestName = 200;

/** Whether a text can name a pipeline or a resource: letters, digits, `.`, `_` and `-`, at most 200 of them. */
export function isName(text: string): boolean {
  return text.length <= longestName && namePattern.test(text);
}
