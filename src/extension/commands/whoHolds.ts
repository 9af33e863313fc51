import { t } from "@vscode/l10n";
import type { QuickPick, QuickPickItem, window as vscodeWindow } from "vscode";
import { followRun } from "../../client/follow/followRun.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { AbsentEndpoint } from "../../client/service/replyErrors.ts";
import { secondsToLimit } from "../../client/start/slotHolders.ts";
import { actorText, nameOf, type Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import { duration, timeOfDay } from "../../text/time.ts";
import type { Session } from "../session/session.ts";
import { readRunArgument } from "../start/runArgument.ts";
import { knownSlotHolders, readSlotHolders, type SlotHolders } from "../start/waitNotice.ts";
import { chosenFrom } from "../window/chosenFrom.ts";
import { ProgressLocation } from "../window/editorEnums.ts";
import { withoutIcons } from "../window/plainWindow.ts";
import { type CancelDeps, cancelRuns } from "./cancelRun.ts";

interface WhoHoldsDeps extends CancelDeps {
  readonly session: Session;
  readonly window: CancelDeps["window"] &
    HolderPickDeps["window"] &
    Pick<typeof vscodeWindow, "showInformationMessage" | "withProgress">;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly signal: AbortSignal;
}

/**
 * “Who Holds the Slot”: lists the active runs live, with whose they are and how long they may still take, and offers to
 * cancel one (a member may cancel any), to open its log, or to wait for its end.
 * @param given as `pipelineRuns.run` takes it: what is run once the slot is free.
 */
export async function whoHolds(deps: WhoHoldsDeps, given?: unknown): Promise<void> {
  const { executeCommand } = deps;
  const request = readRunArgument(given);
  if (request.kind !== "named") await showHolders(deps, undefined, () => executeCommand("pipelineRuns.run"));
  else await showHolders(deps, request.start.pipeline, () => executeCommand("pipelineRuns.run", given));
}

/**
 * The same, for the start that a run stands in the way of.
 * @param wanted its pipeline; undefined where the person only looks.
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
  const pick = new HolderPick(holders, { window, session, clock: client.clock, ahead, wanted });
  const choice = await pick.answer();
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

/** Waits for a run's end with a notification. @returns false when the person stops waiting. */
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
    if (!(error instanceof AbsentEndpoint)) throw error;
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

/** The list of the active runs and what can be done about each. It updates itself while it is open. */
export class HolderPick {
  readonly #deps: HolderPickDeps;
  readonly #pick: QuickPick<HolderItem>;
  #holders: SlotHolders;

  constructor(holders: SlotHolders, deps: HolderPickDeps) {
    this.#deps = deps;
    this.#holders = holders;
    this.#pick = deps.window.createQuickPick<HolderItem>();
    this.#pick.title = t("Who Holds the Slot");
    this.#pick.matchOnDescription = true;
  }

  /** Shows the list, until it is answered or left. */
  async answer(): Promise<HolderChoice> {
    const { session, clock } = this.#deps;
    this.#list();
    const following = session.state.observe(() => this.#onSessionChanged());
    const ticking = repeat(clock, 1000, async () => this.#showTimeLeft());
    const chosen = await chosenFrom(this.#pick);
    void ticking.stop();
    following.dispose();
    return chosen?.choice ?? { kind: "left" };
  }

  /** Redraws the list only when other runs hold the slots, so that it does not move under the reader. */
  #onSessionChanged(): void {
    const told = knownSlotHolders(this.#deps.session);
    if (told === undefined) return;
    const before = this.#holders;
    this.#holders = told;
    if (keyOf(told) !== keyOf(before)) this.#list();
    this.#showTimeLeft();
  }

  #list(): void {
    this.#pick.items =
      this.#holders.runs.length === 0 ? [this.#free()] : this.#holders.runs.flatMap((run) => this.#rows(run));
  }

  #free(): HolderItem {
    const { wanted } = this.#deps;
    const label = wanted === undefined ? t("Run Pipeline…") : t("Run {0}", wanted);
    return { label: `$(play) ${withoutIcons(label)}`, choice: { kind: "run" } };
  }

  #rows(run: Run): HolderItem[] {
    const { wanted } = this.#deps;
    const { me } = this.#holders;
    const name = nameOf(run);
    const starter = actorText(run);
    const wait =
      wanted === undefined
        ? t("Notify me when {0} finishes", name)
        : t("Run {0} when {1} finishes", wanted, name);
    return [
      {
        label: `$(sync~spin) ${withoutIcons(name)}`,
        description: withoutIcons(
          starter === undefined ? "" : run.actor === me ? t("your run") : t("by {0}", starter),
        ),
        detail: withoutIcons(
          [...(run.project === undefined ? [] : [run.project]), run.runId, ...this.#times(run)].join(" · "),
        ),
        choice: { kind: "log", run },
      },
      { label: `$(watch) ${withoutIcons(wait)}`, choice: { kind: "wait", run } },
      {
        label: `$(output) ${withoutIcons(t("Open the log of {0}", name))}`,
        choice: { kind: "log", run },
      },
      {
        label: `$(stop-circle) ${withoutIcons(t("Cancel {0}", name))}`,
        choice: { kind: "cancel", run },
      },
    ];
  }

  /** Start and latest end, in the person's own time zone. */
  #times({ createdAt, timeLimitSeconds }: Run): string[] {
    const { ahead } = this.#deps;
    if (ahead === undefined || createdAt === undefined) return [];
    const began = Date.parse(createdAt) - ahead;
    const since = t("since {0}", timeOfDay(began));
    if (timeLimitSeconds === undefined) return [since];
    return [since, t("time limit {0}", duration(timeLimitSeconds * 1000))];
  }

  #showTimeLeft(): void {
    const { ahead, clock } = this.#deps;
    const { runs } = this.#holders;
    const servedAt = ahead === undefined ? undefined : clock.now() + ahead;
    const left = runs.flatMap((run) => secondsToLimit(run, servedAt) ?? []);
    if (runs.length === 0) this.#pick.placeholder = t("The slot is free.");
    else if (left.length === 0) this.#pick.placeholder = t("It is unknown when the slot becomes free.");
    else this.#pick.placeholder = t("Free within {0}", duration(Math.min(...left) * 1000));
  }
}

function keyOf({ runs }: SlotHolders): string {
  return runs.map(({ runId }) => runId).join(" ");
}
