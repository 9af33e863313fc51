import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type Clock, repeat } from "../../machine/clock.ts";
import { duration, timeOfDay } from "../../text/time.ts";
import type { Session } from "../session/session.ts";
import { readRunArgument } from "../start/runArgument.ts";
import { knownSlotHolders, readSlotHolders, type SlotHolders } from "../start/waitNotice.ts";
import { chosenFrom } from "../window/chosenFrom.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { type CancelDeps, cancelRuns } from "./cancelRun.ts";

interface WhoHoldsDeps extends CancelDeps {
  readonly window: CancelDeps["window"] & HolderPickDeps["window"];
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
}

/**
 * “Who Holds the Slot”: lists the active runs live, with their owners and remaining times, and offers to cancel one (a member may
 * cancel any), to open its log, or to wait for its end.
 * @param given as for `pipelineRuns.run`: what to run once the slot is free.
 */
export async function whoHolds(deps: WhoHoldsDeps, given?: unknown): Promise<void> {
  const { executeCommand } = deps;
  const request = readRunArgument(given);
  if (request.kind !== "named") await showHolders(deps, undefined, () => executeCommand("pipelineRuns.run"));
  else await showHolders(deps, request.start.pipeline, () => executeCommand("pipelineRuns.run", given));
}

/**
 * The same for a start that is waiting for the slot.
 * @param wanted the start's pipeline; undefined if the person is only looking.
 * @param run starts it, or lets the person pick.
 */
export async function showHolders(
  deps: WhoHoldsDeps,
  wanted: string | undefined,
  run: () => PromiseLike<unknown>,
): Promise<void> {
  const { session, window, executeCommand, signal } = deps;
  const client = await session.connect(signal);
  const [holders, { servedAt }] = await Promise.all([
    readSlotHolders(client, session, signal),
    client.orgAndTime(signal),
  ]);
  if (holders === undefined) {
    void window.showInformationMessage(t("{0} doesn't report who holds the slot.", client.baseUrl.host));
    return;
  }
  const ahead = servedAt === undefined ? undefined : servedAt - client.clock.now();
  const choice = await pickHolder(holders, { window, session, clock: client.clock, ahead, wanted });
  switch (choice.kind) {
    case "left":
      return;
    case "cancel":
      return cancelRuns(client, [choice.run], deps);
    case "log":
      await executeCommand("pipelineRuns.openLog", { runId: choice.run.runId });
      return;
    case "wait":
      if (!(await hasEnded(client, choice.run, deps))) return;
      if (wanted !== undefined || (await isRunWanted(choice.run, deps))) await run();
      return;
    case "run":
      await run();
      return;
    default:
      choice satisfies never;
  }
}

/** Waits for a run's end with a notification. @returns false if the person stops waiting. */
async function hasEnded(client: ServiceClient, run: Run, deps: WhoHoldsDeps): Promise<boolean> {
  const stopped = new AbortController();
  try {
    await deps.window.withProgress(
      {
        location: ProgressLocation.notification,
        title: t("Waiting for {0} to finish", nameOf(run)),
        cancellable: true,
      },
      (_, token) => {
        token.onCancellationRequested(() => stopped.abort());
        return followRun(client, run, () => {}, anySignal([deps.signal, stopped.signal]));
      },
    );
    return true;
  } catch (error) {
    if (stopped.signal.aborted) return false;
    if (!isUnseen(error)) throw error;
    void deps.window.showInformationMessage(t("{0} doesn't report when runs end.", client.baseUrl.host));
    return false;
  }
}

async function isRunWanted(ended: Run, { window }: Pick<WhoHoldsDeps, "window">): Promise<boolean> {
  const run = t("Run Pipeline…");
  const text = t("{0} has finished. The slot is free.", nameOf(ended));
  return (await window.showInformationMessage(text, run)) === run;
}

/** What the person chose to do about the slot. */
export type HolderChoice =
  | { readonly kind: "left" }
  | { readonly kind: "cancel" | "log" | "wait"; readonly run: Run }
  /** The slot is free. */
  | { readonly kind: "run" };

export interface HolderPickDeps {
  readonly window: Pick<typeof vscodeWindow, "createQuickPick">;
  readonly session: Pick<Session, "state">;
  readonly clock: Clock;
  /** How far the service's clock is ahead of this machine's, in milliseconds; undefined if unknown. */
  readonly ahead: number | undefined;
  /** The pipeline to run once a slot is free. */
  readonly wanted: string | undefined;
}

interface HolderItem extends QuickPickItem {
  readonly choice: HolderChoice;
}

/** Lists the active runs with the choices for each, until the person picks one or leaves; the list updates itself. */
export async function pickHolder(first: SlotHolders, deps: HolderPickDeps): Promise<HolderChoice> {
  const { window, session, clock, ahead, wanted } = deps;
  let holders = first;
  const pick = window.createQuickPick<HolderItem>();
  pick.title = t("Who Holds the Slot");
  pick.matchOnDescription = true;
  const list = () => {
    const { runs, me } = holders;
    pick.items = runs.length === 0 ? [freeItem(wanted)] : runs.flatMap((run) => itemsOf(run, me, deps));
  };
  const showTimeLeft = () => {
    const { runs } = holders;
    const servedAt = ahead === undefined ? undefined : clock.now() + ahead;
    const left = runs.flatMap((run) => secondsToLimit(run, servedAt) ?? []);
    if (runs.length === 0) pick.placeholder = t("The slot is free.");
    else if (left.length === 0) pick.placeholder = t("It is unknown when the slot becomes free.");
    else pick.placeholder = t("Free within {0}", duration(Math.min(...left) * 1000));
  };
  list();
  const following = session.state.observe(() => {
    const told = knownSlotHolders(session);
    if (told === undefined) return;
    const before = holders;
    holders = told;
    // Redrawn only when other runs are active, so that the list doesn't move under the reader.
    if (keyOf(told) !== keyOf(before)) list();
    showTimeLeft();
  });
  const ticking = repeat(clock, 1000, async () => showTimeLeft());
  const chosen = await chosenFrom(pick);
  void ticking.stop();
  following.dispose();
  return chosen?.choice ?? { kind: "left" };
}

function freeItem(wanted: string | undefined): HolderItem {
  const label = wanted === undefined ? t("Run Pipeline…") : t("Run {0}", wanted);
  return { label: `$(play) ${withoutIcons(label)}`, choice: { kind: "run" } };
}

function itemsOf(run: Run, me: string, { wanted, ahead }: HolderPickDeps): HolderItem[] {
  const name = nameOf(run);
  const starter = actorText(run);
  const who = starter === undefined ? "" : run.actor === me ? t("your run") : t("by {0}", starter);
  const facts = [...(run.project === undefined ? [] : [run.project]), run.runId, ...timesOf(run, ahead)];
  const wait =
    wanted === undefined
      ? t("Notify me when {0} finishes", name)
      : t("Run {0} when {1} finishes", wanted, name);
  const openLog = t("Open the log of {0}", name);
  return [
    {
      label: `$(sync~spin) ${withoutIcons(name)}`,
      description: withoutIcons(who),
      detail: withoutIcons(facts.join(" · ")),
      choice: { kind: "log", run },
    },
    { label: `$(watch) ${withoutIcons(wait)}`, choice: { kind: "wait", run } },
    { label: `$(output) ${withoutIcons(openLog)}`, choice: { kind: "log", run } },
    { label: `$(stop-circle) ${withoutIcons(t("Cancel {0}", name))}`, choice: { kind: "cancel", run } },
  ];
}

/** The start, in the person's own time zone, and the time limit. */
function timesOf({ createdAt, timeLimitSeconds }: Run, ahead: number | undefined): string[] {
  if (ahead === undefined || createdAt === undefined) return [];
  const since = t("since {0}", timeOfDay(Date.parse(createdAt) - ahead));
  if (timeLimitSeconds === undefined) return [since];
  return [since, t("time limit {0}", duration(timeLimitSeconds * 1000))];
}

function keyOf({ runs }: SlotHolders): string {
  return runs.map(({ runId }) => runId).join(" ");
}
