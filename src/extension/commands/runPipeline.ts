import { t } from "@vscode/l10n";
import type { fromFailedStep } from "../../contract/fromStep.ts";
import { inputsForRerun } from "../../contract/pipelines.ts";
import type { Run } from "../../contract/run.ts";
import type { AskedInputs } from "../start/askInputs.ts";
import { type ChooseStartDeps, chooseStart } from "../start/chooseStart.ts";
import { type StartPipelineDeps, startPipeline } from "../start/startPipeline.ts";
import { type RecentRunDeps, recentRun } from "./pickRun.ts";

export type RunPipelineDeps = StartPipelineDeps & ChooseStartDeps;

/**
 * “Run Pipeline…” and “Run with Inputs…”: starts the pipeline that the argument names, else one that the person picks or types.
 * @param given see `readRunArgument`.
 */
export async function runPipeline(
  deps: RunPipelineDeps,
  given?: unknown,
  which: AskedInputs = "missing",
): Promise<void> {
  const title = which === "all" ? t("Run with Inputs") : t("Run Pipeline");
  const start = await chooseStart(deps, title, given, which);
  if (start !== undefined) await startPipeline(start, deps);
}

interface RunAgainDeps extends RecentRunDeps {
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  /** See `stepToResumeAt`. */
  readonly resumeAt: (run: Run) => Promise<ReturnType<typeof fromFailedStep>>;
}

/** “Run Again…”: starts a run's pipeline again, from the current file, with the run's inputs. */
export async function runAgain(deps: RunAgainDeps, argument?: unknown): Promise<void> {
  const words = { title: t("Run Again"), placeHolder: t("Select the run to run again") };
  const run = await recentRun(argument, words, deps);
  if (run === undefined) return;
  const { pipeline, project } = run;
  await deps.executeCommand("pipelineRuns.run", { pipeline, project, inputs: inputsForRerun(run) });
}

/** “Run From Failed Step…”: starts a new run at a run's failed step. @param argument a run, or its failed step. */
export async function runFromStep(deps: RunAgainDeps, argument?: unknown): Promise<void> {
  const words = {
    title: t("Run From Failed Step"),
    placeHolder: t("Select the failed run; the new one skips the steps before that one"),
  };
  const picked = await recentRun(argument, words, deps);
  if (picked === undefined) return;
  const { pipeline, project, runId } = picked;
  const run =
    picked.steps === undefined
      ? await (await deps.session.connect(deps.signal)).run(runId, deps.signal)
      : picked;
  const failed = await deps.resumeAt(run);
  if (failed === undefined) {
    void deps.window.showInformationMessage(t("This run failed at no step that a new one could begin with."));
    return;
  }
  const { fromStep } = failed;
  await deps.executeCommand("pipelineRuns.run", { pipeline, project, fromStep, inputs: inputsForRerun(run) });
}
