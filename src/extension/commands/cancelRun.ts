import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { followRun } from "../../client/followRun.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { Run } from "../../contract/run.ts";
import { ProgressLocation } from "../editorNumbers.ts";
import type { RunAnnouncer } from "../runAnnouncer.ts";
import type { Session } from "../session.ts";

export interface CancelDeps {
  readonly session: Session;
  readonly announcer: RunAnnouncer;
  readonly window: Pick<
    typeof vscodeWindow,
    "showQuickPick" | "showInputBox" | "showInformationMessage" | "withProgress"
  >;
  readonly signal: AbortSignal;
}

interface RunItem extends QuickPickItem {
  readonly run: Run;
}

/** “Cancel Run…”: picks one of the org's runs in work and ends it; done once its place is given up. */
export async function cancelRun(deps: CancelDeps): Promise<void> {
  const { session, window, signal } = deps;
  const client = await session.connect(signal);
  const runs = await runsInWork(client, signal);
  if (runs === "not listed") {
    const runId = await window.showInputBox({
      title: "Cancel Run",
      prompt: `${client.baseUrl.host} does not list its runs. Which one is to be cancelled?`,
      placeHolder: "The run's id",
    });
    if (runId === undefined || runId.trim() === "") return;
    const { status } = await client.cancel(runId.trim(), signal);
    void window.showInformationMessage(`${runId.trim()}: ${status}`);
    return;
  }
  if (runs.length === 0) {
    void window.showInformationMessage("No run is in work.");
    return;
  }
  const { actor } = await client.org(signal);
  const picked = await window.showQuickPick(
    runs.map((run) => runItem(run, actor)),
    { title: "Cancel Run", placeHolder: "Pick the run to cancel" },
  );
  if (picked !== undefined) await endRuns(client, [picked.run], deps);
}

/**
 * Cancels runs and waits until their places are given up, which a notification shows meanwhile.
 * @throws PipelineError when one could not be cancelled; the others are cancelled all the same.
 */
export async function endRuns(client: ServiceClient, runs: readonly Run[], deps: CancelDeps): Promise<void> {
  const { window, announcer, signal } = deps;
  const names = runs.map(({ pipeline }) => pipeline).join(", ");
  const ended = await window.withProgress(
    { location: ProgressLocation.notification, title: `Cancelling ${names}` },
    () =>
      Promise.allSettled(
        runs.map(async ({ runId }) => {
          const speakAgain = announcer.keepQuiet(runId);
          try {
            await client.cancel(runId, signal);
            return await followRun(client, runId, () => {}, signal);
          } catch (error) {
            speakAgain();
            throw error;
          }
        }),
      ),
  );
  const stopped = ended.filter((end) => end.status === "fulfilled").map(({ value }) => value);
  if (stopped.length > 0) {
    void window.showInformationMessage(
      `${stopped.map((run) => `${run.pipeline}: ${run.status}`).join(", ")}.`,
    );
  }
  const failed = ended.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function runsInWork(client: ServiceClient, signal: AbortSignal): Promise<Run[] | "not listed"> {
  try {
    return (await client.runs({ inWork: true, limit: 100 }, signal)).runs;
  } catch (error) {
    if (error instanceof AbsentEndpoint) return "not listed";
    throw error;
  }
}

function runItem(run: Run, actor: string): RunItem {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(run.createdAt)) / 1000));
  const who = run.actor === actor ? "started by your key" : `started by ${run.actor}`;
  return {
    label: run.pipeline,
    description: `${run.status} for ${seconds} s`,
    detail: `${run.runId}, ${who}`,
    run,
  };
}
