import { t } from "@vscode/l10n";
import { startByTool } from "../../client/foreignTool/foreignTool.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import type { Reconnect } from "../../client/service/failedRequest.ts";
import { secondsToLimit, slotHolders } from "../../client/start/slotHolders.ts";
import { startRun } from "../../client/start/startRun.ts";
import { exitCodes } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import { type Hint, type RefusedStart, startOptions } from "../../contract/refusal.ts";
import { nameOf, type Run, type StartRequest } from "../../contract/run.ts";
import { replaceControlCharacters } from "../../text/controlCharacters.ts";
import { placeText, type QueuePlace } from "../../text/queueText.ts";
import { refusalLines } from "../../text/refusalText.ts";
import { duration } from "../../text/time.ts";
import { type OwnToolDeps, ownTool } from "../start/startByOwnTool.ts";
import type { Waits } from "../start/waits.ts";
import type { PipelineTask } from "./taskDefinition.ts";
import { style, type TaskIo, type TaskScreen } from "./taskTerminal.ts";

/** The outcome of a task's start. */
export type TaskStart =
  /** Also a run that was started at the moment of an interrupt, and is cancelled then. */
  | { readonly kind: "run"; readonly run: Run }
  | { readonly kind: "refused"; readonly refused: RefusedStart }
  /** An interrupt came first. In doubt, a run may exist, since no reply came. */
  | { readonly kind: "abandoned"; readonly isInDoubt: boolean };

export interface StartTaskDeps {
  readonly client: ServiceClient;
  /** The project's folder, where there is one here. */
  readonly root: string | undefined;
  readonly reconnect: Reconnect | undefined;
  readonly waits: Waits;
  readonly screen: TaskScreen;
}

/** In seconds: how long the first line of a wait may take to name the slot holders. */
const holdersTimeout = 2;

/**
 * Starts a run and shows the wait with its seconds on one line.
 * @param interrupted leaves the queue.
 * @throws as `startRun`, but not for an interrupt.
 */
export async function startTask(
  request: StartRequest,
  { client, root, reconnect, waits, screen }: StartTaskDeps,
  interrupted: AbortSignal,
): Promise<TaskStart> {
  const { pipeline } = request;
  const name = replaceControlCharacters(pipeline);
  const stopped = new AbortController();
  const abandoned = AbortSignal.any([interrupted, stopped.signal]);
  const wait = waits.begin(request, () => stopped.abort(new Error("the wait was stopped")));
  const over = new AbortController();
  let unwanted: Run | undefined;
  let isInDoubt = false;
  let place: QueuePlace | undefined;
  const printSlotHolders = async (servedAt: number | undefined): Promise<void> => {
    using deadline = new Deadline(client.clock, over.signal);
    deadline.arm(holdersTimeout);
    const holders = (await slotHolders(client, deadline.signal)) ?? [];
    if (over.signal.aborted) return;
    const who =
      holders.length === 0 ? t("another run") : holders.map((run) => holderText(run, servedAt)).join(", ");
    screen.line(t("{0} is waiting for {1} to finish; gives up in {2} s", name, who, waitSeconds));
  };
  try {
    const outcome = await startRun(
      request,
      {
        client,
        root,
        reconnect,
        onWaitStart: (servedAt) => void printSlotHolders(servedAt),
        onWaiting: (secondsLeft) => {
          wait.update(secondsLeft, place);
          const queued = place === undefined ? "" : `${t("{0} in the queue", placeText(place, t))} · `;
          screen.passing(style.dim(`${queued}${t("gives up in {0} s · Ctrl+C stops waiting", secondsLeft)}`));
        },
        onPlace: (told) => {
          place = told;
        },
        onUnwanted: (run) => {
          unwanted = run;
        },
        onDoubt: () => {
          isInDoubt = true;
        },
      },
      abandoned,
    );
    if (outcome.kind === "started") return { kind: "run", run: outcome.run };
    const { refusal, waitedSeconds } = outcome;
    const options = startOptions({ timeLimitSeconds: request.timeLimitSeconds });
    return { kind: "refused", refused: { pipeline, refusal, waitedSeconds, options } };
  } catch (error) {
    if (unwanted !== undefined) return { kind: "run", run: unwanted };
    if (abandoned.aborted) return { kind: "abandoned", isInDoubt };
    throw error;
  } finally {
    over.abort();
    wait.end();
    screen.clear();
  }
}

function holderText(run: Run, servedAt: number | undefined): string {
  const name = replaceControlCharacters(nameOf(run));
  const runId = replaceControlCharacters(run.runId);
  const seconds = secondsToLimit(run, servedAt);
  return seconds === undefined
    ? `${name} (${runId})`
    : t("{0} ({1}, up to {2} left)", name, runId, duration(seconds * 1000));
}

/**
 * Prints the refusal with its hints. @returns the exit code.
 * @param known the org's limit, and the hints of the service's own tool, if that was refused.
 */
export function printRefusal(
  refused: RefusedStart,
  screen: TaskScreen,
  {
    runsPerDay,
    toolHints,
  }: { readonly runsPerDay?: number | undefined; readonly toolHints?: readonly Hint[] | undefined },
): number {
  const { reason, hints } = refusalLines([refused], { now: Date.now(), runsPerDay, hints: toolHints }, t);
  screen.line(style.bad(replaceControlCharacters(reason)));
  for (const hint of hints) screen.line(`  ${t("Hint: {0}", replaceControlCharacters(hint))}`);
  return exitCodes.refusedByLimit;
}

/**
 * Runs a task's pipeline with the service's own tool, which waits for a slot itself (contract: "The extension", last
 * row).
 * @returns the exit code.
 * @throws PipelineError as `ownTool` and `startByTool`; the interrupt's reason.
 */
export async function runTaskByTool(
  { pipeline, timeLimitSeconds }: PipelineTask,
  client: ServiceClient,
  root: string | undefined,
  { screen, signals }: TaskIo,
  deps: OwnToolDeps,
): Promise<number> {
  const { clock } = client;
  const tool = await ownTool(client, { root, timeLimitSeconds }, deps);
  const { cliPath } = tool;
  screen.line(
    style.dim(t("{0} is run by {1}", replaceControlCharacters(pipeline), replaceControlCharacters(cliPath))),
  );
  const began = clock.monotonic();
  const outcome = await startByTool({ ...tool, clock }, pipeline, signals.interrupted);
  if (outcome.kind === "done") {
    screen.line(style.bold(style.good(t("{0}: succeeded", replaceControlCharacters(pipeline)))));
    return exitCodes.done;
  }
  const waitedSeconds = Math.round((clock.monotonic() - began) / 1000);
  return printRefusal({ pipeline, refusal: outcome.refusal, waitedSeconds }, screen, {
    toolHints: outcome.hints,
  });
}
