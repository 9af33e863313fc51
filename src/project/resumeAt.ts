import { fromFailedStep } from "../contract/fromStep.ts";
import type { Run } from "../contract/run.ts";
import { stepToGoOnAt } from "../pipeline/stepToGoOnAt.ts";
import { filesNamed } from "./pipelineFiles.ts";

/** `stepToGoOnAt` of a run, by its pipeline's file as it is now. @param root its project's folder; undefined if not here. */
export async function goOnAt(run: Run, root: string | undefined): Promise<ReturnType<typeof stepToGoOnAt>> {
  if (run.pipeline === undefined || fromFailedStep(run) === undefined) return undefined;
  const [file] = root === undefined ? [] : await filesNamed(root, run.pipeline);
  return stepToGoOnAt(run, file?.parsed.kind === "valid" ? file.parsed.pipeline : undefined);
}
