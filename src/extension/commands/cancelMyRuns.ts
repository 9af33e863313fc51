import { t } from "@vscode/l10n";
import { type MyRuns, myRunsInWork } from "../../client/cancelMine.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import { cancelMineByTool } from "../../client/tool/foreignTool.ts";
import { nameOf } from "../../contract/run.ts";
import { type OwnToolDeps, ownTool } from "../start/ownTool.ts";
import { type CancelDeps, endRuns } from "./cancelRun.ts";

/** “Cancel My Runs”: ends every run in work that this window's API key started. */
export async function cancelMyRuns(deps: CancelDeps & OwnToolDeps): Promise<void> {
  const { session, window, signal } = deps;
  const client = await session.connect(signal);
  let runs: MyRuns;
  try {
    runs = await myRunsInWork(client, signal);
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    await cancelMineByTool(await ownTool(client, { root: undefined }, deps), signal);
    void window.showInformationMessage(t("Your runs are being cancelled."));
    return;
  }
  if (runs.areMore) {
    void window.showInformationMessage(
      t("The service lists more runs than were looked through: cancel again for the others."),
    );
  }
  if (runs.nobodys.length > 0) {
    const names = runs.nobodys.map(nameOf).join(", ");
    void window.showInformationMessage(
      t("Left alone, since the service doesn't tell who started it: {0}", names),
    );
  }
  if (runs.mine.length > 0) await endRuns(client, runs.mine, deps);
  else if (runs.nobodys.length === 0 && !runs.areMore) {
    void window.showInformationMessage(t("No run in work was started by your key."));
  }
}
