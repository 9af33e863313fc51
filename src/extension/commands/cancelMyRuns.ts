import { t } from "@vscode/l10n";
import { myRunsInWork } from "../../client/cancelMine.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import { cancelMineByTool } from "../../client/tool/foreignTool.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { StartPipelineDeps } from "../startPipeline.ts";
import { type CancelDeps, endRuns } from "./cancelRun.ts";

/** “Cancel My Runs”: ends every run in work that this window's API key started. */
export async function cancelMyRuns(
  deps: CancelDeps & Pick<StartPipelineDeps, "cliPath" | "env">,
): Promise<void> {
  const { session, window, signal } = deps;
  const client = await session.connect(signal);
  try {
    const runs = await myRunsInWork(client, signal);
    if (runs.length === 0) void window.showInformationMessage(t("No run in work was started by your key."));
    else await endRuns(client, runs, deps);
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const cliPath = deps.cliPath();
    if (cliPath === undefined) {
      throw new PipelineError(
        "usage",
        t("{0} lists its runs only through its own command-line tool.", client.baseUrl.host),
        { next: t("Set pipelineRuns.cliPath to that tool.") },
      );
    }
    const { baseUrl, apiKey } = client;
    await cancelMineByTool({ cliPath, baseUrl, apiKey, cwd: process.cwd(), env: deps.env }, signal);
    void window.showInformationMessage(t("Your runs are being cancelled."));
  }
}
