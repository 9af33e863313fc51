import { PipelineError } from "../../contract/errors.ts";
import { waitSeconds as defaultWaitSeconds } from "../../contract/limits.ts";
import type { Refusal } from "../../contract/refusal.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { QueuePlace } from "../../text/refusalText.ts";
import type { ServiceClient, StartAttempt } from "../service/client.ts";
import { mayHaveRestarted, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { AbsentEndpoint, DefinitionWanted, LostStart } from "../service/replyErrors.ts";
import { growingPauses, pauseBounds } from "../service/retry.ts";
import { holdsOnlySlot } from "./slotHolders.ts";
import { type LostReply, StartAttempts } from "./startAttempts.ts";

export type StartOutcome =
  | { readonly kind: "started"; readonly run: Run }
  | {
      readonly kind: "refused";
      readonly refusal: Refusal;
      readonly waitedSeconds: number;
      /** The caller's own run, whose slot was not waited for. */
      readonly ownRunId?: string;
    };

export interface StartDeps {
  readonly client: ServiceClient;
  /** The project's folder here, for a service that runs pipelines on other machines. */
  readonly root?: string | undefined;
  /**
   * Called when the wait for a slot begins and then every second until it ends, with the whole seconds left. An error that it
   * throws ends the wait and is rethrown.
   */
  readonly onWaiting: (secondsLeft: number) => void;
  /**
   * Called during the wait with the request's queue position each time it changes, if the service reports it; undefined if nobody
   * else waits.
   */
  readonly onPlace?: (place: QueuePlace | undefined) => void;
  /**
   * Called once before the wait, if other runs hold the slots. `servedAt` is the service's clock then, in milliseconds since
   * 1970, if the service sends it.
   */
  readonly onWaitStart?: (servedAt: number | undefined) => void;
  /**
   * Called with a run that was started although the signal had aborted; the callee cancels and follows it. By default the run is
   * only cancelled.
   */
  readonly onUnwanted?: (run: Run) => void;
  /** Called after an abort if it stays unknown whether there is a run. */
  readonly onDoubt?: () => void;
  /** By default the service is never searched for again. */
  readonly reconnect?: Reconnect | undefined;
  /** The coding agent that starts the run, see `agentHeader`. */
  readonly agent?: string | undefined;
  /** The run that the caller is a step of. While it holds the org's only slot, a wait for that slot can't succeed. */
  readonly ownRunId?: string | undefined;
  /** How long to wait for a slot; by default 120, as in the contract. 0 takes the first reply. */
  readonly waitSeconds?: number;
}

/**
 * Starts a run, waiting while other runs hold the org's slots (contract: "The wait"). The first attempt asks for a reply at once;
 * later ones let the service hold them in its queue. A service that doesn't hold requests is asked again after growing pauses,
 * and once more at the end of the wait. Scope `free-day` is never waited for.
 *
 * Every attempt carries the same idempotency key, so that a lost reply never starts a second run. If all replies were lost, the
 * service is asked for the run.
 *
 * @param signal its abort rejects with the signal's reason. It ends a request that the service holds, which leaves the queue, and
 * waits 2 s for a reply that is on its way. A run that was started all the same is found, within some seconds, and cancelled or
 * handed to `onUnwanted`.
 * @throws PipelineError as `ServiceClient` says; `AbsentEndpoint` from a service that starts runs only with its own tool; a
 * `LostStart` if there may be a run that can't be found.
 */
export async function startRun(
  request: StartRequest,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const attempts = new StartAttempts(request, deps);
  const listenerFailed = new AbortController();
  const ends = anySignal([signal, listenerFailed.signal]);
  let outcome: StartOutcome;
  try {
    outcome = await askAndWait(attempts, deps, listenerFailed, ends);
  } catch (error) {
    const { root } = deps;
    if (error instanceof DefinitionWanted && root !== undefined && request.definition === undefined) {
      // Only this start needs the parser of pipeline files and the packing of the project's files.
      const { withDefinition } = await import("./definition.ts");
      return startRun(await withDefinition(request, attempts.client, root, signal), deps, signal);
    }
    const found: LostReply = attempts.isInDoubt ? await attempts.find(!ends.aborted) : { kind: "none" };
    if (ends.aborted) {
      if (found.kind === "run") await endUnwanted(attempts, found.run, deps);
      if (found.kind === "unknown") {
        if (found.runId !== undefined) await cancelIgnoringErrors(attempts.client, found.runId);
        deps.onDoubt?.();
      }
      throw ends.reason;
    }
    if (found.kind === "run") return { kind: "started", run: found.run };
    if (found.kind === "none" || !(error instanceof PipelineError)) throw error;
    throw error instanceof LostStart && found.runId === error.runId
      ? error
      : new LostStart(error, found.runId);
  }
  if (ends.aborted && outcome.kind === "started") await endUnwanted(attempts, outcome.run, deps);
  ends.throwIfAborted();
  return outcome;
}

async function askAndWait(
  attempts: StartAttempts,
  deps: StartDeps,
  listenerFailed: AbortController,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const first = await ask(attempts, undefined, signal);
  if (first.kind === "started") return first;
  const { waitSeconds = defaultWaitSeconds } = deps;
  if (first.refusal.scope === "free-day" || waitSeconds <= 0) return refused(first, 0);
  const { ownRunId } = deps;
  if (ownRunId !== undefined && (await holdsOnlySlot(attempts.client, ownRunId, signal))) {
    return { kind: "refused", refusal: first.refusal, waitedSeconds: 0, ownRunId };
  }
  deps.onWaitStart?.(first.servedAt);

  const over = new AbortController();
  const deadline = attempts.client.clock.monotonic() + waitSeconds * 1000;
  const countingDown = countDown(deadline, deps, over.signal).catch((error: unknown) => {
    if (!over.signal.aborted) listenerFailed.abort(error);
  });
  const { onPlace } = deps;
  const watching = onPlace === undefined ? undefined : watchPlace(attempts, onPlace, over.signal);
  try {
    // `Retry-After` is obeyed before the service is asked to hold the start request.
    if (first.retryAfterSeconds !== undefined)
      await attempts.client.clock.sleep(pauseOf(first.retryAfterSeconds, waitSeconds), signal);
    return await keepAsking(attempts, deadline, waitSeconds, signal);
  } finally {
    over.abort();
    await Promise.all([countingDown, watching]);
  }
}

/** @param deadline of the wait for a slot, on the monotonic clock. */
async function keepAsking(
  attempts: StartAttempts,
  deadline: number,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const { clock, random } = attempts.client;
  const pauses = growingPauses(random);
  for (;;) {
    const asked = clock.monotonic();
    const attempt = await ask(attempts, deadline, signal);
    if (attempt.kind === "started") return attempt;
    const left = deadline - clock.monotonic();
    if (attempt.refusal.scope === "free-day" || left <= 0) {
      return refused(attempt, Math.round(waitSeconds - left / 1000));
    }
    const wanted =
      attempt.retryAfterSeconds === undefined
        ? pauses.next().value
        : pauseOf(attempt.retryAfterSeconds, waitSeconds);
    // For a service that held the request, the pause is already over.
    const pause = Math.min(asked + wanted, deadline) - clock.monotonic();
    if (pause > 0) await clock.sleep(pause, signal);
  }
}

/** The pause that a service asks for, in milliseconds: neither so short that it is hammered nor longer than the wait. */
function pauseOf(retryAfterSeconds: number, waitSeconds: number): number {
  return Math.min(Math.max(pauseBounds.shortest, retryAfterSeconds * 1000), waitSeconds * 1000);
}

/**
 * Sends one attempt, and repeats it while its reply is lost, even if the service has moved.
 * @param deadline of the wait; undefined before the first reply.
 */
async function ask(
  attempts: StartAttempts,
  deadline: number | undefined,
  signal: AbortSignal,
): Promise<StartAttempt> {
  const { clock, random } = attempts.client;
  const pauses = growingPauses(random);
  const isFirst = deadline === undefined;
  const timeLeft = () => (isFirst ? 0 : deadline - clock.monotonic());
  for (let count = 1; ; count++) {
    try {
      return await attempts.attempt(Math.max(0, Math.round(timeLeft() / 1000)), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!mayHaveRestarted(error) || error instanceof LostStart) throw error;
      if (error instanceof OutOfReach && count <= failuresAllowed(error, isFirst)) {
        const requested = (error.retryAfterSeconds ?? 0) * 1000;
        const pause = Math.max(pauses.next().value, requested);
        if (isFirst && pause > longestPauseAtFirst) throw error;
        // A wait ends with one more attempt.
        const sleep = isFirst ? pause : Math.min(pause, Math.max(timeLeft(), pauseBounds.shortest));
        await clock.sleep(sleep, signal);
        await attempts.reconnect(signal);
      } else {
        // As the very first reply, `internal` is the service's own failure, not a sign that another has taken its place.
        const isItsOwn = error.type === "internal" && isFirst && count === 1;
        if (isItsOwn || count > mostMoves || !(await attempts.reconnect(signal))) throw error;
      }
    }
  }
}

/** The longest `Retry-After`, in milliseconds, that is honoured before the first reply. */
const longestPauseAtFirst = 15_000;
/** How many attempts in a row may find that the service has moved. */
const mostMoves = 4;

/**
 * How many attempts in a row may fail before the service counts as out of reach. Before its first reply, only a dropped
 * connection, a proxy's error or, once, a timeout of 10 s is retried. Once it has replied, it may be restarting.
 */
function failuresAllowed({ fault }: OutOfReach, isFirst: boolean): number {
  if (!isFirst) return fault === "tls" || fault === "proxy" ? 0 : 4;
  return fault === "dropped" || fault === "unavailable" ? 4 : fault === "timed-out" ? 1 : 0;
}

async function endUnwanted({ client }: StartAttempts, run: Run, { onUnwanted }: StartDeps): Promise<void> {
  if (onUnwanted === undefined) await cancelIgnoringErrors(client, run.runId);
  else onUnwanted(run);
}

async function cancelIgnoringErrors(client: ServiceClient, runId: string): Promise<void> {
  try {
    await client.cancel(runId, new AbortController().signal);
  } catch {
    // A run that can't be cancelled ends at its time limit.
  }
}

async function countDown(deadline: number, deps: StartDeps, signal: AbortSignal): Promise<void> {
  const { clock } = deps.client;
  const left = () => deadline - clock.monotonic();
  let seconds = Math.ceil(left() / 1000);
  while (seconds > 0) {
    deps.onWaiting(seconds);
    await clock.sleep(Math.max(0, left() - (seconds - 1) * 1000), signal);
    seconds = Math.min(seconds - 1, Math.ceil(left() / 1000));
  }
}

/** In milliseconds: the pause before a broken stream is opened again. */
const watchAgainAfter = 5_000;

/** Calls `onPlace` with the request's queue position, if the service reports it. */
async function watchPlace(
  attempts: StartAttempts,
  onPlace: (place: QueuePlace | undefined) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await attempts.watchPlace(onPlace, signal);
    } catch (error) {
      // Ignored: if the service is gone, the request that it holds fails too.
      if (error instanceof AbsentEndpoint) return;
    }
    await attempts.client.clock.sleep(watchAgainAfter, signal).catch(() => undefined);
  }
}

function refused({ refusal }: StartAttempt & { kind: "refused" }, waitedSeconds: number): StartOutcome {
  return { kind: "refused", refusal, waitedSeconds };
}
