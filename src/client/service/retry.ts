import type { Clock } from "../../contract/clock.ts";
import { OutOfReach } from "./reachFaults.ts";
import type { ServiceCall } from "./request.ts";

/** That what is safe to repeat is repeated, and who hears of it. */
export interface Retries {
  /** Called before each pause, with why there is one and its milliseconds. */
  readonly onRetry?: ((fault: OutOfReach, pauseMilliseconds: number) => void) | undefined;
}

interface RetryDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly retries: Retries;
}

const mostAttempts = 4;
/** No attempt begins later than so many milliseconds after the first. */
const patience = 15_000;

/**
 * An exchange that is tried again, after growing pauses, while it brings no answer and another may: at most 4 times,
 * none begun later than 15 s after the first. A silent host, at 10 s each, is so asked twice. Where somebody asks for a
 * longer pause (`Retry-After`), it is kept, or there is no other attempt.
 *
 * @param attempt must be safe to repeat, see {@link isRepeatable}.
 * @throws what the last attempt threw; the signal's reason.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { clock, random, retries }: RetryDeps,
  signal: AbortSignal,
): Promise<T> {
  const latest = clock.monotonic() + patience;
  const pauses = growingPauses(random);
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted || attempts >= mostAttempts) throw error;
      if (!(error instanceof OutOfReach) || !mayPass(error)) throw error;
      const pause = Math.max(pauses.next().value, (error.retryAfterSeconds ?? 0) * 1000);
      if (clock.monotonic() + pause > latest) throw error;
      retries.onRetry?.(error, pause);
      await clock.sleep(pause, signal);
    }
  }
}

/** Whether a request asks for the same, however often it arrives: every GET and PUT, and what says so of itself. */
export function isRepeatable({ method, repeatable }: ServiceCall): boolean {
  return repeatable ?? method !== "POST";
}

/** Nobody who listens, a wrong name or an untrusted certificate is not mended by a pause. */
function mayPass({ fault, retryAfterSeconds }: OutOfReach): boolean {
  if (fault === "throttled") return retryAfterSeconds !== undefined;
  return fault === "dropped" || fault === "timed-out" || fault === "unavailable";
}

/** The shortest and the longest pause between two attempts, in milliseconds (contract: "The wait"). */
export const pauseBounds = { shortest: 1000, longest: 5000 } as const;

/**
 * Pauses between attempts, without end: each grows by half, and a random part is taken off so that many clients
 * that were refused in the same moment don't come back in the same moment. Every pause is within the bounds.
 *
 * @param random a number from 0 up to but not including 1, as `Math.random` gives.
 */
export function* growingPauses(
  random: () => number,
  { shortest, longest }: { readonly shortest: number; readonly longest: number } = pauseBounds,
): Generator<number, never> {
  for (let ceiling = shortest * 1.5; ; ceiling = Math.min(ceiling * 1.5, longest)) {
    yield Math.max(shortest, Math.round(ceiling * (1 - random() / 3)));
  }
}
