import { t } from "@vscode/l10n";
import { type RecentRunDeps, recentRun } from "./recentRun.ts";

export interface RunAgainDeps extends RecentRunDeps {
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

/** “Run Again…”: starts the pipeline of a run once more, as its file is now. */
export async function runAgain(deps: RunAgainDeps, argument?: unknown): Promise<void> {
  const words = { title: t("Run Again"), placeHolder: t("Pick the run whose pipeline is to be run again") };
  const run = await recentRun(argument, words, deps);
  if (run === undefined) return;
  const { pipeline, project } = run;
  await deps.executeCommand("pipelineRuns.run", { pipeline, project });
}
