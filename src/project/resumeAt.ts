import { fromFailedStep } from "../contract/fromStep.ts";
import type { Run } from "../contract/run.ts";
import { stepToResumeAt } from "../pipeline/stepToResumeAt.ts";
import { filesNamed } from "./pipelineFiles.ts";

/** `stepToResumeAt` of a run, by its pipeline's file as it is now. @param root its project's folder; undefined if not here. */
export async function resumeAt(
  run: Run,
  root: string | undefined,
): Promise<ReturnType<typeof stepToResumeAt>> {
  if (run.pipeline === undefined || fromFailedStep(run) === undefined) return undefined;
  const [file] = root === undefined ? [] : await filesNamed(root, run.pipeline);
  return stepToResumeAt(run, file?.parsed.kind === "valid" ? file.parsed.pipeline : undefined);
}
