import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds } from "../../contract/limits.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import type { ServiceClient, StartAttempt } from "../service/client.ts";
import { mayHaveMoved, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { LostStart } from "../service/replyErrors.ts";
import { growingPauses, pauseBounds } from "../service/retry.ts";
import { type Granted, StartWish } from "./startAttempts.ts";

export type StartOutcome =
  | { readonly kind: "started"; readonly run: Run }
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly waitedSeconds: number };

export interface StartDeps {
  readonly client: ServiceClient;
  /**
   * Called when the wait for a place begins and then every second until it ends, with the whole seconds left. What
   * it throws ends the wait and is rethrown.
   */
  readonly onWaiting: (secondsLeft: number) => void;
  /**
   * Called once, before all that, when another run holds the place. `servedAt` is the service's clock at that moment, in
   * milliseconds since 1970, where it tells.
   */
  readonly onTaken?: (servedAt: number | undefined) => void;
  /**
   * Takes a run that was started although the signal had aborted: whoever takes it cancels it, and sees to it that it
   * ends. Left out, it is cancelled here.
   */
  readonly onUnwanted?: (run: Run) => void;
  /** Called when the signal has aborted and nobody can tell whether a run was started, or what became of it. */
  readonly onDoubt?: () => void;
  /** Left out, the service is asked only where it was. */
  readonly reconnect?: Reconnect | undefined;
  /** How long to ask for a place; 120 by the contract. 0 takes the first answer. */
  readonly patienceSeconds?: number;
}

/**
 * Starts a run, asking for up to the patience while other runs hold the org's place (contract: "The wait"). The first
 * attempt asks for an answer at once; the later ones let the service hold them in its queue. A service that doesn't is
 * asked again after growing pauses, and once more when the time is over. Scope `free-day` is never waited for.
 *
 * One wish makes at most one run: every attempt carries the same idempotency key, so that an attempt whose answer was
 * lost can be sent again. When all answers were lost, the service is asked whether the wish was granted: that run is
 * the caller's.
 *
 * @param signal its abort rejects with the signal's reason. It closes the connection of an attempt that the service
 * holds, which gives up the turn; of one that is being answered, or is to be at once, it awaits the answer for 2 s. A
 * run that was started all the same is found, within some seconds, and cancelled or handed to `onUnwanted`.
 * @throws PipelineError as `ServiceClient` says; `AbsentEndpoint` from a service that starts runs only by its own tool;
 * a `LostStart` when there may be a run that can't be found.
 */
export async function startRun(
  request: StartRequest,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const wish = new StartWish(request, deps.client, deps.reconnect);
  const faceFailed = new AbortController();
  const ends = AbortSignal.any([signal, faceFailed.signal]);
  let outcome: StartOutcome;
  try {
    outcome = await askAndWait(wish, deps, faceFailed, ends);
  } catch (error) {
    const found: Granted = wish.isInDoubt ? await wish.find() : { kind: "none" };
    if (ends.aborted) {
      if (found.kind === "run") await endUnwanted(wish, found.run, deps);
      if (found.kind === "unknown") await leaveInDoubt(wish, found.runId, deps);
      throw ends.reason;
    }
    if (found.kind === "run") return { kind: "started", run: found.run };
    if (found.kind === "none" || !(error instanceof PipelineError)) throw error;
    throw error instanceof LostStart && found.runId === error.runId
      ? error
      : new LostStart(error, found.runId);
  }
  if (ends.aborted && outcome.kind === "started") await endUnwanted(wish, outcome.run, deps);
  ends.throwIfAborted();
  return outcome;
}

async function askAndWait(
  wish: StartWish,
  deps: StartDeps,
  faceFailed: AbortController,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const first = await ask(wish, { kind: "first" }, signal);
  if (first.kind === "started") return first;
  const patience = deps.patienceSeconds ?? waitSeconds;
  if (first.refusal.scope === "free-day" || patience <= 0) return refused(first, 0);
  deps.onTaken?.(first.servedAt);

  const over = new AbortController();
  const turn: Turn = { kind: "waiting", deadline: wish.client.clock.monotonic() + patience * 1000 };
  const telling = tellSecondsLeft(turn, deps, over.signal).catch((error: unknown) => {
    if (!over.signal.aborted) faceFailed.abort(error);
  });
  try {
    return await keepAsking(wish, turn, patience, signal);
  } finally {
    over.abort();
    await telling;
  }
}

/** Waiting for the place, until an instant of the monotonic clock. */
interface Turn {
  readonly kind: "waiting";
  readonly deadline: number;
}

async function keepAsking(
  wish: StartWish,
  turn: Turn,
  patience: number,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const { clock, random } = wish.client;
  const pauses = growingPauses(random);
  for (;;) {
    const asked = clock.monotonic();
    const attempt = await ask(wish, turn, signal);
    if (attempt.kind === "started") return attempt;
    const left = turn.deadline - clock.monotonic();
    if (attempt.refusal.scope === "free-day" || left <= 0) {
      return refused(attempt, Math.round(patience - left / 1000));
    }
    const wanted =
      attempt.retryAfterSeconds === undefined
        ? pauses.next().value
        : Math.max(pauseBounds.shortest, attempt.retryAfterSeconds * 1000);
    // A service that held the request has kept the pause already; another one right away keeps the turn short.
    const pause = Math.min(asked + wanted, turn.deadline) - clock.monotonic();
    if (pause > 0) await clock.sleep(pause, signal);
  }
}

/** One attempt, sent again while its answer is lost, to where the service is then. */
async function ask(
  wish: StartWish,
  stage: Turn | { kind: "first" },
  signal: AbortSignal,
): Promise<StartAttempt> {
  const { clock, random } = wish.client;
  const pauses = growingPauses(random);
  const timeLeft = () => (stage.kind === "waiting" ? stage.deadline - clock.monotonic() : 0);
  for (let attempts = 1; ; attempts++) {
    try {
      return await wish.attempt(Math.max(0, Math.round(timeLeft() / 1000)), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayHaveMoved(error) || error instanceof LostStart) throw error;
      if (error instanceof OutOfReach && attempts <= timesForgiven(error, stage.kind)) {
        const asked = (error.retryAfterSeconds ?? 0) * 1000;
        const pause = Math.max(pauses.next().value, asked);
        if (stage.kind === "first" && pause > longestPauseAtFirst) throw error;
        // Who waits asks once more when the time is over.
        const wait =
          stage.kind === "first" ? pause : Math.min(pause, Math.max(timeLeft(), pauseBounds.shortest));
        await clock.sleep(wait, signal);
        await wish.lookAnew(signal);
      } else {
        // A refused key at the very first is no sign of a service that was started anew.
        const mayBeAnother = error.type === "out-of-reach" || stage.kind === "waiting" || attempts > 1;
        if (!mayBeAnother || attempts > mostMoves || !(await wish.lookAnew(signal))) throw error;
      }
    }
  }
}

/** The longest pause, in milliseconds, that something before the service may ask for before the first answer. */
const longestPauseAtFirst = 15_000;
/** How many attempts in a row may find the service gone from where it was. */
const mostMoves = 4;

/**
 * How many attempts in a row may bring no answer before the service counts as out of reach. Before the first answer only
 * a lost one, or one that something before the service gave, is worth another attempt, and a silent service, at 10 s
 * each, just one; one that has answered may be restarting.
 */
function timesForgiven({ fault }: OutOfReach, stage: "first" | "waiting"): number {
  if (stage === "waiting") return fault === "tls" || fault === "proxy" ? 0 : 4;
  return fault === "dropped" || fault === "unavailable" ? 4 : fault === "timed-out" ? 1 : 0;
}

/** With a signal of its own, since the wish's has aborted; the client gives up by itself after some seconds. */
async function endUnwanted({ client }: StartWish, run: Run, { onUnwanted }: StartDeps): Promise<void> {
  if (onUnwanted === undefined) await cancelled(client, run.runId);
  else onUnwanted(run);
}

async function leaveInDoubt(
  { client }: StartWish,
  runId: string | undefined,
  { onDoubt }: StartDeps,
): Promise<void> {
  if (runId !== undefined) await cancelled(client, runId);
  onDoubt?.();
}

async function cancelled(client: ServiceClient, runId: string): Promise<void> {
  try {
    await client.cancel(runId, new AbortController().signal);
  } catch {
    // Whoever aborted waits for nothing but the end of the start; the run's time limit ends what can't be cancelled.
  }
}

async function tellSecondsLeft(turn: Turn, deps: StartDeps, signal: AbortSignal): Promise<void> {
  const { clock } = deps.client;
  const left = () => turn.deadline - clock.monotonic();
  let seconds = Math.ceil(left() / 1000);
  while (seconds > 0) {
    deps.onWaiting(seconds);
    await clock.sleep(Math.max(0, left() - (seconds - 1) * 1000), signal);
    seconds = Math.min(seconds - 1, Math.ceil(left() / 1000));
  }
}

function refused({ refusal }: StartAttempt & { kind: "refused" }, waitedSeconds: number): StartOutcome {
  return { kind: "refused", refusal, waitedSeconds };
}
