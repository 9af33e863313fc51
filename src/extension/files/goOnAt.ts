import type { LocalProject } from "../../client/project.ts";
import { fromFailedStep } from "../../contract/fromStep.ts";
import type { Run } from "../../contract/run.ts";
import { stepToGoOnAt } from "../../pipeline/stepToGoOnAt.ts";
import { filesNamed } from "../../project/pipelineFiles.ts";

/** `stepToGoOnAt` of a run, by its pipeline's file as it is now in one of the projects. */
export async function goOnAt(
  run: Run,
  projects: readonly LocalProject[],
): Promise<ReturnType<typeof fromFailedStep>> {
  if (run.pipeline === undefined || fromFailedStep(run) === undefined) return undefined;
  const own = projects.find(({ name }) => name === run.project);
  const [file] = own === undefined ? [] : await filesNamed(own.root, run.pipeline);
  const parsed = file?.parsed;
  return stepToGoOnAt(run, parsed?.kind === "valid" ? parsed.pipeline : undefined);
}
