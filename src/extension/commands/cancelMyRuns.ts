import { t } from "@vscode/l10n";
import { myRunsInWork } from "../../client/cancelMine.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import { cancelMineByTool } from "../../client/tool/foreignTool.ts";
import { type OwnToolDeps, ownTool } from "../start/ownTool.ts";
import { type CancelDeps, endRuns } from "./cancelRun.ts";

/** “Cancel My Runs”: ends every run in work that this window's API key started. */
export async function cancelMyRuns(deps: CancelDeps & OwnToolDeps): Promise<void> {
  const { session, window, signal } = deps;
  const client = await session.connect(signal);
  try {
    const runs = await myRunsInWork(client, signal);
    if (runs.length === 0) void window.showInformationMessage(t("No run in work was started by your key."));
    else await endRuns(client, runs, deps);
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    await cancelMineByTool(await ownTool(client, { root: undefined }, deps), signal);
    void window.showInformationMessage(t("Your runs are being cancelled."));
  }
}
