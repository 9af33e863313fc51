import type { Clock } from "../../machine/clock.ts";
import { OutOfReach } from "./reachFaults.ts";
import type { ServiceCall } from "./request.ts";

/** Enables retries of requests that are safe to repeat. */
export interface Retries {
  /** Called before each pause with its cause and its length in milliseconds. */
  readonly onRetry?: ((fault: OutOfReach, pauseMilliseconds: number) => void) | undefined;
}

interface RetryDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly retries: Retries;
}

const mostAttempts = 4;
/** In milliseconds: no attempt begins later than this after the first. */
const patience = 15_000;

/**
 * Retries a request, after growing pauses, while no reply came and another attempt may bring one: at most 4 attempts, none begun
 * later than 15 s after the first. A silent host, at 10 s each, gets two. There is no retry if `Retry-After` asks for more.
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

/** Whether a request is idempotent: every GET and PUT, and those marked so. */
export function isRepeatable({ method, repeatable }: ServiceCall): boolean {
  return repeatable ?? method !== "POST";
}

/** Whether a retry may help. It doesn't against a refused connection, a wrong name or an untrusted certificate. */
function mayPass({ fault, retryAfterSeconds }: OutOfReach): boolean {
  if (fault === "throttled") return retryAfterSeconds !== undefined;
  return fault === "dropped" || fault === "timed-out" || fault === "unavailable";
}

/** The shortest and the longest pause between two attempts, in milliseconds (contract: "The wait"). */
export const pauseBounds = { shortest: 1000, longest: 5000 } as const;

/**
 * Endless pauses between attempts, each half as long again, with jitter so that clients that were refused together don't return
 * together. Every pause is within the bounds.
 *
 * @param random a number from 0 up to but not including 1, as from `Math.random`.
 */
export function* growingPauses(
  random: () => number,
  { shortest, longest }: { readonly shortest: number; readonly longest: number } = pauseBounds,
): Generator<number, never> {
  for (let ceiling = shortest * 1.5; ; ceiling = Math.min(ceiling * 1.5, longest)) {
    yield Math.max(shortest, Math.round(ceiling * (1 - random() / 3)));
  }
}
