import { t } from "@vscode/l10n";
import type { window as vscodeWindow } from "vscode";
import { followRun } from "../../client/followRun.ts";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { ProgressLocation } from "../editorNumbers.ts";
import type { Session } from "../session.ts";
import { HolderPick, type HolderPickDeps } from "../start/holderPick.ts";
import { askedHolding } from "../start/placeText.ts";
import { readRunArgument } from "../start/runArguments.ts";
import { type CancelDeps, endRuns } from "./cancelRun.ts";

export interface WhoHoldsDeps extends CancelDeps {
  readonly session: Session;
  readonly window: CancelDeps["window"] &
    HolderPickDeps["window"] &
    Pick<typeof vscodeWindow, "showInformationMessage" | "withProgress">;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly signal: AbortSignal;
}

/**
 * “Who Holds the Place”: the runs in work, whose they are and how long they may still take, live; and what can be done:
 * cancel one (a member may cancel any), open its log, wait for it.
 *
 * @param given what `pipelineRuns.run` takes: what is to be run once the place is free.
 */
export async function whoHolds(deps: WhoHoldsDeps, given?: unknown): Promise<void> {
  const { session, window, executeCommand, signal } = deps;
  const request = readRunArgument(given);
  const wanted = request.kind === "named" ? request.pipeline : undefined;
  const client = await session.connect(signal);
  const [holding, { servedAt }] = await Promise.all([
    askedHolding(client, signal),
    client.orgAndTime(signal),
  ]);
  if (holding === undefined) {
    void window.showInformationMessage(t("{0} does not tell who holds the place.", client.baseUrl.host));
    return;
  }
  const ahead = servedAt === undefined ? undefined : servedAt - client.clock.now();
  const pick = new HolderPick(holding, { window, session, clock: client.clock, ahead, wanted });
  const choice = await pick.answer();
  switch (choice.kind) {
    case "left":
      return;
    case "cancel":
      return endRuns(client, [choice.run], deps);
    case "log":
      await executeCommand("pipelineRuns.openLog", { runId: choice.run.runId });
      return;
    case "wait":
      if (!(await hasEnded(client, choice.run, deps))) return;
      if (wanted === undefined) await tellFree(choice.run, deps);
      else await executeCommand("pipelineRuns.run", given);
      return;
    case "run":
      await (wanted === undefined
        ? executeCommand("pipelineRuns.run")
        : executeCommand("pipelineRuns.run", given));
      return;
    default:
      choice satisfies never;
  }
}

/** Waits for a run's end, which a notification shows. @returns false when the person stopped waiting. */
async function hasEnded(client: ServiceClient, run: Run, deps: WhoHoldsDeps): Promise<boolean> {
  const stopped = new AbortController();
  try {
    await deps.window.withProgress(
      {
        location: ProgressLocation.notification,
        title: t("Waiting for {0} to end", nameOf(run)),
        cancellable: true,
      },
      (_, token) => {
        token.onCancellationRequested(() => stopped.abort());
        return followRun(client, run, () => {}, AbortSignal.any([deps.signal, stopped.signal]));
      },
    );
    return true;
  } catch (error) {
    if (stopped.signal.aborted) return false;
    if (!(error instanceof AbsentEndpoint)) throw error;
    void deps.window.showInformationMessage(t("{0} does not tell when a run ends.", client.baseUrl.host));
    return false;
  }
}

async function tellFree(ended: Run, { window, executeCommand }: WhoHoldsDeps): Promise<void> {
  const run = t("Run Pipeline…");
  const chosen = await window.showInformationMessage(
    t("{0} has ended: its place is free.", nameOf(ended)),
    run,
  );
  if (chosen === run) await executeCommand("pipelineRuns.run");
}
