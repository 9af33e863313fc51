import * as z from "zod/mini";
import { instant } from "./fields.ts";
import { inputValuesSchema } from "./inputs.ts";
import { longestBranch } from "./limits.ts";

/** The commit that a project's folder was at when a run began. */
export const commitSchema = z.object({
  id: z.string().check(z.regex(/^[0-9a-f]{40,64}$/)),
  /** Absent if no branch was checked out. */
  branch: z.optional(z.string().check(z.maxLength(longestBranch))),
  /** Whether the folder had uncommitted changes or untracked files that aren't ignored. */
  changed: z.boolean(),
});

/** `GET /api/runs/{id}/pipeline`: a run's pipeline file at `path` and the files it includes, as they ran; secrets are masked. */
export const ranPipelineSchema = z.object({ path: z.string(), texts: z.record(z.string(), z.string()) });

/** `GET /api/runs/{id}/changes`: what changed since the previous successful run of the same pipeline. */
export const changesSchema = z.object({
  /** Absent if no earlier successful run is known. */
  lastPassed: z.optional(
    z.object({
      runId: z.string(),
      createdAt: instant,
      commit: z.optional(commitSchema),
      /** The inputs that run was given (`inputsForRerun`); absent if they aren't known. */
      inputs: z.optional(inputValuesSchema),
    }),
  ),
  /** A unified diff of each changed file, by path; absent if the files of either run aren't kept. */
  diffs: z.optional(z.record(z.string(), z.string())),
});

export type Commit = z.infer<typeof commitSchema>;
export type RanPipeline = z.infer<typeof ranPipelineSchema>;
export type Changes = z.infer<typeof changesSchema>;
