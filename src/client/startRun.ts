import { randomUUID } from "node:crypto";
import { waitSeconds } from "../contract/limits.ts";
import type { Refusal } from "../contract/refusal.ts";
import type { Run, StartRequest } from "../contract/run.ts";
import { answeredStart } from "./answeredStart.ts";
import { OutOfReach } from "./http/outOfReach.ts";
import type { ServiceClient, StartAttempt } from "./http/serviceClient.ts";
import { growingPauses, pauseBounds } from "./pauses.ts";

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
  /** Called with a run that was started although the signal had aborted; it was asked to be cancelled already. */
  readonly onUnwanted?: (run: Run) => void;
  /** How long to ask for a place; 120 by the contract. 0 takes the first answer. */
  readonly patienceSeconds?: number;
}

/**
 * Starts a run, asking for up to the patience while other runs hold the org's place (contract: "The wait"). The first
 * attempt asks for an answer at once; the later ones let the service hold them in its queue. A service that doesn't is
 * asked again after growing pauses, and once more when the time is over. Scope `free-day` is never waited for.
 *
 * One wish makes at most one run: every attempt carries the same idempotency key, so that an attempt whose answer was
 * lost can be sent again.
 *
 * @param signal its abort rejects with the signal's reason. It closes the connection of an attempt that the service
 * holds, which gives up the turn; of one that is being answered, or is to be at once, it awaits the answer for 2 s. A
 * run that was started all the same is cancelled (see `answeredStart`).
 * @throws PipelineError as `ServiceClient` says; `AbsentEndpoint` from a service that starts runs only by its own tool.
 */
export async function startRun(
  request: StartRequest,
  deps: StartDeps,
  signal: AbortSignal,
): Promise<StartOutcome> {
  const { client } = deps;
  const { onUnwanted } = deps;
  const wish: Wish = { client, request, idempotencyKey: randomUUID(), onUnwanted };
  const first = await ask(wish, { kind: "first" }, signal);
  if (first.kind === "started") return first;
  const patience = deps.patienceSeconds ?? waitSeconds;
  if (first.refusal.scope === "free-day" || patience <= 0) return refused(first, 0);
  deps.onTaken?.(first.servedAt);

  const over = new AbortController();
  const turn: Turn = { kind: "waiting", deadline: client.clock.monotonic() + patience * 1000 };
  const telling = tellSecondsLeft(turn, deps, over.signal).catch((error: unknown) => over.abort(error));
  try {
    return await keepAsking(wish, turn, patience, AbortSignal.any([signal, over.signal]));
  } finally {
    over.abort();
    await telling;
  }
}

interface Wish {
  readonly client: ServiceClient;
  readonly request: StartRequest;
  readonly idempotencyKey: string;
  readonly onUnwanted: ((run: Run) => void) | undefined;
}

/** Waiting for the place, until an instant of the monotonic clock. */
interface Turn {
  readonly kind: "waiting";
  readonly deadline: number;
}

async function keepAsking(
  wish: Wish,
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

/** One attempt, sent again while its answer is lost. */
async function ask(wish: Wish, stage: Turn | { kind: "first" }, signal: AbortSignal): Promise<StartAttempt> {
  const { client } = wish;
  const pauses = growingPauses(client.random);
  for (let attempts = 1; ; attempts++) {
    const left = stage.kind === "waiting" ? stage.deadline - client.clock.monotonic() : 0;
    try {
      const hold = Math.max(0, Math.round(left / 1000));
      return await answeredStart({ ...wish, waitSeconds: hold }, signal);
    } catch (error) {
      if (!(error instanceof OutOfReach) || attempts > timesForgiven(error, stage.kind)) throw error;
      await client.clock.sleep(pauses.next().value, signal);
    }
  }
}

/**
 * How many attempts in a row may bring no answer before the service counts as out of reach. Before the first answer only
 * a lost one is worth another attempt, and a silent service, at 10 s each, just one; one that has answered may be
 * restarting.
 */
function timesForgiven({ fault }: OutOfReach, stage: "first" | "waiting"): number {
  if (stage === "waiting") return fault === "tls" || fault === "proxy" ? 0 : 4;
  return fault === "dropped" ? 4 : fault === "timed-out" ? 1 : 0;
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
