import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { followRun } from "../../client/follow/followRun.ts";
import { cancelMineByTool } from "../../client/foreignTool/foreignTool.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { type MyRuns, myActiveRuns } from "../../client/start/cancelRuns.ts";
import { PipelineError } from "../../contract/errors.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { RunAnnouncer } from "../announce/runAnnouncer.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { type OwnToolDeps, ownTool } from "../start/startByOwnTool.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import { statusText } from "../window/runText.ts";
import { pickableRuns, pickRun, runIdOf } from "./pickRun.ts";

export interface CancelDeps {
  readonly session: Session;
  readonly runs: Pick<RunList, "find">;
  readonly announcer: Pick<RunAnnouncer, "suppress">;
  readonly window: Pick<
    typeof vscodeWindow,
    "showQuickPick" | "showInputBox" | "showInformationMessage" | "showWarningMessage" | "withProgress"
  >;
  readonly signal: AbortSignal;
}

/**
 * “Cancel Run…”: cancels an active run of the org, and resolves once its slot is free.
 * @param argument `{ runId }` of a row or a lens; without it, the person's own run if no other is active, else the one that they
 * pick.
 */
export async function cancelRun(deps: CancelDeps, argument?: unknown): Promise<void> {
  const runId = runIdOf(argument);
  const client = await deps.session.connect(deps.signal);
  if (runId === undefined) await cancelPicked(client, deps);
  else await cancelGiven(client, runId, deps);
}

/**
 * Cancels runs and waits until their slots are free, with a notification.
 * @throws PipelineError if one can't be cancelled; the others are cancelled all the same.
 */
export async function cancelRuns(
  client: ServiceClient,
  runs: readonly Run[],
  deps: CancelDeps,
): Promise<void> {
  const { window } = deps;
  const names = runs.map(nameOf).join(", ");
  const ended = await window.withProgress(
    { location: ProgressLocation.notification, title: t("Cancelling {0}", names) },
    () => Promise.allSettled(runs.map((run) => cancelAndFollow(client, run, deps))),
  );
  const stopped = ended.filter((end) => end.status === "fulfilled").map(({ value }) => value);
  if (stopped.length > 0) {
    void window.showInformationMessage(
      `${stopped.map((run) => `${nameOf(run)}: ${statusText(run.status)}`).join(", ")}.`,
    );
  }
  const failed = ended.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function cancelPicked(client: ServiceClient, deps: CancelDeps): Promise<void> {
  const { window, signal } = deps;
  const { runs: listed, ...context } = await pickableRuns(client, { active: true, limit: 100 }, signal);
  if (listed === undefined) {
    const runId = await window.showInputBox({
      title: t("Cancel Run"),
      prompt: t("{0} doesn't list its runs. Which run do you want to cancel?", client.baseUrl.host),
      placeHolder: t("The run's ID"),
    });
    if (runId !== undefined && runId.trim() !== "") await cancelById(client, runId.trim(), deps);
    return;
  }
  // A service may ignore the query.
  const runs = listed.filter(isActive);
  if (runs.length === 0) {
    void window.showInformationMessage(t("No active runs."));
    return;
  }
  const [only, other] = runs;
  const isOnly = other === undefined && only?.actor !== undefined;
  if (isOnly && only.actor === context.me) {
    await cancelRuns(client, [only], deps);
    return;
  }
  const placeHolder = isOnly ? t("You did not start this run. Cancel it?") : t("Select the run to cancel");
  const words = { title: t("Cancel Run"), placeHolder };
  const picked = await pickRun(runs, words, context, window);
  if (picked !== undefined) await cancelRuns(client, [picked], deps);
}

/** Cancels the run of a row or a lens, which shows the outcome itself, so progress in the status bar is enough. */
async function cancelGiven(client: ServiceClient, runId: string, deps: CancelDeps): Promise<void> {
  const { runs, window } = deps;
  const known = runs.find(runId) ?? { runId };
  const title = t("Cancelling {0}", nameOf(known));
  const ended = await window.withProgress({ location: ProgressLocation.window, title }, () =>
    cancelAndFollow(client, known, deps),
  );
  if (isActive(ended)) void window.showInformationMessage(t("{0} is being cancelled.", nameOf(known)));
}

async function cancelById(
  client: ServiceClient,
  runId: string,
  { window, signal }: CancelDeps,
): Promise<void> {
  const { status, warning } = await client.cancel(runId, signal);
  void window.showInformationMessage(`${runId}: ${statusText(status)}`);
  if (warning !== undefined) void window.showWarningMessage(warning);
}

/** @returns the stopped run, or the status of the cancel's reply if the service can't show how it ends. */
async function cancelAndFollow(
  client: ServiceClient,
  run: Pick<Run, "runId" | "pipeline">,
  { announcer, window, signal }: CancelDeps,
): Promise<Run> {
  const unsuppress = announcer.suppress(run.runId);
  try {
    const { status, warning } = await client.cancel(run.runId, signal);
    if (warning !== undefined) void window.showWarningMessage(warning);
    return await followRun(client, run, () => {}, signal).catch((error: unknown) => {
      if (error instanceof PipelineError) return { ...run, status };
      throw error;
    });
  } catch (error) {
    unsuppress();
    throw error;
  }
}

interface CancelMineDeps extends CancelDeps, OwnToolDeps {}

/** “Cancel My Runs”: cancels every active run that this window's API key started. */
export async function cancelMyRuns(deps: CancelMineDeps): Promise<void> {
  const { session, window, signal } = deps;
  const client = await session.connect(signal);
  let runs: MyRuns;
  try {
    runs = await myActiveRuns(client, signal);
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    await cancelMineByTool(await ownTool(client, { root: undefined }, deps), signal);
    void window.showInformationMessage(t("Your runs are being cancelled."));
    return;
  }
  if (runs.areMore) {
    void window.showInformationMessage(
      t("There are more runs than could be checked. Cancel again to cancel the rest."),
    );
  }
  if (runs.nobodys.length > 0) {
    const names = runs.nobodys.map(nameOf).join(", ");
    void window.showInformationMessage(
      t("Not cancelled, because the service doesn't say who started it: {0}", names),
    );
  }
  if (runs.mine.length > 0) await cancelRuns(client, runs.mine, deps);
  else if (runs.nobodys.length === 0 && !runs.areMore) {
    void window.showInformationMessage(t("You have no active runs."));
  }
}
