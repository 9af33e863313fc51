import { basename } from "node:path";
import { t } from "@vscode/l10n";
import type { LogOutputChannel, window as vscodeWindow } from "vscode";
import type { ServiceClient } from "../../client/service/client.ts";
import type { Reconnect } from "../../client/service/failedRequest.ts";
import { cancelEach } from "../../client/start/cancelRuns.ts";
import { startRun } from "../../client/start/startRun.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { type Hint, type RefusedStart, startOptions } from "../../contract/refusal.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { type RefusalFacts, refusalLines } from "../../text/refusalText.ts";
import { FileProblem } from "../announce/notices.ts";
import type { RunAnnouncer } from "../announce/runAnnouncer.ts";
import type { Target } from "../keys/serviceChoice.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import { runsPerDayOf } from "../session/serviceConnection.ts";
import type { Session } from "../session/session.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { ChosenStart } from "./chooseStart.ts";
import { type StartByToolDeps, startByOwnTool, startsByTool } from "./startByOwnTool.ts";
import {
  knownSlotHolders,
  readSlotHolders,
  type SlotHolders,
  StoppedWaiting,
  slotHolderText,
  type Wait,
  WaitNotice,
  type Waits,
} from "./waitNotice.ts";

export interface StartPipelineDeps extends StartByToolDeps {
  readonly session: Pick<Session, "connect" | "reconnect" | "noteChange" | "state">;
  readonly projectNames: Pick<ProjectNames, "register">;
  readonly target: () => Target;
  readonly waits: Waits;
  readonly shutdown: Pick<Shutdown, "join">;
  readonly refusalActions: RefusalActions;
  readonly announcer: Pick<RunAnnouncer, "follow" | "suppress" | "announceDone">;
  readonly window: Pick<
    typeof vscodeWindow,
    "withProgress" | "showWarningMessage" | "showInformationMessage"
  >;
  readonly executeCommand: (command: string, ...parameters: unknown[]) => Thenable<unknown>;
  readonly log: Pick<LogOutputChannel, "info" | "warn">;
}

/** The outcome of an attempt; `done` is a run that the service's own tool followed to its end. */
type Attempt =
  | { readonly kind: "started"; readonly run: Run }
  | { readonly kind: "done" }
  | {
      readonly kind: "refused";
      readonly refused: RefusedStart;
      readonly hints?: readonly Hint[];
      /** Undefined if the service doesn't report who holds the slots. */
      readonly holders?: SlotHolders | undefined;
    }
  /** The person stopped waiting. A run that started at that moment is being cancelled. */
  | { readonly kind: "stopped" };

/** Starts a run and shows the wait, then any refusal with its buttons; announces a started run's end. */
export async function startPipeline(chosen: ChosenStart, deps: StartPipelineDeps): Promise<void> {
  const already = deps.waits.find(chosen);
  if (already !== undefined && !(await isWantedTwice(already, deps))) return;
  for (;;) {
    using asking = deps.waits.starting(chosen);
    // The same start is already being requested, as by the first click of a double click.
    if (asking === undefined) return;
    // Again for each attempt, since the service may have moved, or the settings or a link changed.
    const client = await deps.session.connect(deps.signal, "asked");
    const reconnect = reconnectTo(deps);
    const named = await withProjectName(chosen, client, deps);
    const attempt = await attemptStart(named, client, reconnect, deps);
    switch (attempt.kind) {
      case "stopped":
        deps.log.info(`${chosen.pipeline}: stopped`);
        return;
      case "started":
        deps.log.info(`${chosen.pipeline}: ${attempt.run.runId} started`);
        void deps.announcer.follow(client, attempt.run, () => startPipeline(chosen, deps), reconnect);
        return;
      case "done":
        deps.announcer.announceDone(chosen.pipeline);
        return;
      case "refused": {
        deps.log.info(`${chosen.pipeline}: refused, scope ${attempt.refused.refusal.scope}`);
        const facts = {
          now: Date.now(),
          runsPerDay: runsPerDayOf(deps.session.state.value),
          hints: attempt.hints,
          holders: attempt.holders,
        };
        const answer = await showRefusal(attempt.refused, facts, deps.window);
        if (answer === "dismissed") return;
        if (answer !== "retry") return deps.refusalActions[answer](named);
        break;
      }
      default:
        attempt satisfies never;
    }
  }
}

/** A start of a folder's project under the service's name for what the folder leads to now. */
async function withProjectName(
  chosen: ChosenStart,
  client: ServiceClient,
  { projectNames }: StartPipelineDeps,
): Promise<ChosenStart> {
  const { root } = chosen;
  if (root === undefined) return chosen;
  const { name } = await projectNames.register(client, { name: basename(root), root });
  return { ...chosen, project: name };
}

async function isWantedTwice(already: Wait, { window }: StartPipelineDeps): Promise<boolean> {
  const twice = t("Wait Twice");
  const chosen = await window.showInformationMessage(
    t("{0} was not started again, since it was waiting for a slot already.", already.pipeline),
    twice,
  );
  return chosen === twice;
}

async function attemptStart(
  chosen: ChosenStart,
  client: ServiceClient,
  reconnect: Reconnect | undefined,
  deps: StartPipelineDeps,
): Promise<Attempt> {
  const { root, ...request } = chosen;
  const { pipeline, timeLimitSeconds, fromStep, inputs } = request;
  const asked: { holders?: SlotHolders | undefined } = {};
  const holder = () => {
    const holders = knownSlotHolders(deps.session) ?? asked.holders;
    return holders && slotHolderText(holders);
  };
  using notice = new WaitNotice(chosen, deps.window, deps.waits, holder);
  try {
    const starting = startRun(
      request,
      {
        client,
        root,
        reconnect,
        onWaitStart: () => {
          readSlotHolders(client, deps.session, notice.signal).then(
            (holders) => {
              asked.holders = holders;
            },
            () => undefined,
          );
        },
        onWaiting: (secondsLeft) => notice.update(secondsLeft),
        onPlace: (place) => notice.updatePlace(place),
        onUnwanted: (run) => void cancelUnwanted(client, run, deps),
        onDoubt: () => warnOfDoubt(chosen, deps),
      },
      anySignal([deps.signal, notice.signal]),
    );
    const outcome = await deps.shutdown.join(starting);
    deps.session.noteChange(client, deps.signal);
    if (outcome.kind === "started") return outcome;
    const holders =
      outcome.refusal.scope === "org" ? await readSlotHolders(client, deps.session, deps.signal) : undefined;
    const options = startOptions({ timeLimitSeconds, fromStep, inputs });
    return { kind: "refused", refused: { pipeline, ...outcome, options }, holders };
  } catch (error) {
    if (error instanceof StoppedWaiting) return { kind: "stopped" };
    if (startsByTool(error, deps)) return startByOwnTool(chosen, client, deps);
    if (!(error instanceof PipelineError) || error.type !== "invalid-request") throw error;
    throw new FileProblem(root, error.message, { next: error.next, cause: error });
  }
}

/** Cancels a run that had started when its wait was stopped. The window's end waits for this. */
async function cancelUnwanted(
  client: ServiceClient,
  run: Run,
  { announcer, shutdown, log, window, executeCommand }: StartPipelineDeps,
): Promise<void> {
  const { runId } = run;
  const pipeline = nameOf(run);
  const unsuppress = announcer.suppress(runId);
  const [outcome] = await shutdown.join(cancelEach(client, [runId], new AbortController().signal));
  if (outcome?.kind === "cancelled") {
    log.info(`${pipeline}: ${runId} had started when its wait was stopped; ${outcome.status}`);
    return;
  }
  unsuppress();
  const why = outcome === undefined ? "" : describeError(outcome.error);
  log.warn(`${pipeline}: ${runId} had started when its wait was stopped, and is not cancelled: ${why}`);
  const cancel = t("Cancel Run…");
  const chosen = await window.showWarningMessage(
    t("{0} started just as you stopped waiting, and could not be cancelled. {1}", pipeline, why),
    cancel,
  );
  if (chosen === cancel) await executeCommand("pipelineRuns.cancel", { runId });
}

function warnOfDoubt(
  { pipeline }: ChosenStart,
  { log, signal, window, executeCommand }: StartPipelineDeps,
): void {
  log.warn(`${pipeline}: whether a run was made is not known`);
  if (signal.aborted) return;
  const cancel = t("Cancel Run…");
  window
    .showWarningMessage(
      t("It is unknown whether a run of {0} was started: the service did not answer.", pipeline),
      cancel,
    )
    .then((chosen) => (chosen === cancel ? executeCommand("pipelineRuns.cancel") : undefined));
}

/**
 * Finds this machine's own service after a break, since only that one moves. Any other keeps its address, so that settings
 * changed in the meantime never send a start to another service.
 */
export function reconnectTo({
  session,
  target,
}: Pick<StartPipelineDeps, "session" | "target">): Reconnect | undefined {
  if (target().kind !== "embedded") return undefined;
  return (signal) => {
    if (target().kind === "embedded") return session.reconnect(signal);
    throw new PipelineError("out-of-reach", t("The settings now name another service."));
  };
}

export type RefusalAnswer =
  | "retry"
  | "retry-at-reset"
  | "cancel-mine"
  | "who-holds"
  | "what-counts"
  | "dismissed";

/** The actions of a refusal's buttons on the refused start, except Retry. */
type RefusalActions = Readonly<
  Record<Exclude<RefusalAnswer, "retry" | "dismissed">, (start: ChosenStart) => Promise<void>>
>;

/** A tool may give any number of hints. */
const mostHints = 4;

/**
 * Shows the notification of a refused start: the reason, the hints and the buttons (contract: "The extension").
 *
 * @param facts includes the slot holders; undefined if the service doesn't report them.
 */
export async function showRefusal(
  refused: RefusedStart,
  facts: RefusalFacts & { readonly holders?: SlotHolders | undefined },
  window: Pick<typeof vscodeWindow, "showWarningMessage">,
): Promise<RefusalAnswer> {
  const answers = answersTo(refused, facts.holders);
  const chosen = await window.showWarningMessage(refusalText(refused, facts), ...answers.keys());
  return (chosen !== undefined && answers.get(chosen)) || "dismissed";
}

/** The buttons by the refusal's scope. Once the day's runs are used up, only the next day helps. */
function answersTo({ refusal }: RefusedStart, holders: SlotHolders | undefined): Map<string, RefusalAnswer> {
  const answers = new Map<string, RefusalAnswer>([[t("Retry"), "retry"]]);
  switch (refusal.scope) {
    case "free-day":
      answers.set(t("Retry at 00:00 UTC"), "retry-at-reset");
      answers.set(t("What Counts as a Run?"), "what-counts");
      return answers;
    case "org":
      if (holders === undefined || holders.runs.some(({ actor }) => actor === holders.me)) {
        answers.set(t("Cancel My Runs"), "cancel-mine");
      }
      if (holders !== undefined) answers.set(t("Who Holds the Slot"), "who-holds");
      return answers;
  }
}

export function refusalText(refused: RefusedStart, facts: RefusalFacts): string {
  const { reason, hints } = refusalLines([refused], facts, t);
  return `${reason} ${t("Hint: {0}.", hints.slice(0, mostHints).join("; "))}`;
}
