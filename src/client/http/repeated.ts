import type { Clock } from "../../contract/clock.ts";
import { growingPauses } from "../pauses.ts";
import { OutOfReach } from "./outOfReach.ts";
import type { Ask } from "./service.ts";

/** That what is safe to repeat is repeated, and who hears of it. */
export interface Retries {
  /** Called before each pause, with why there is one and its milliseconds. */
  readonly onRetry?: ((fault: OutOfReach, pauseMilliseconds: number) => void) | undefined;
}

export interface RepeatDeps {
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
export async function repeated<T>(
  attempt: () => Promise<T>,
  { clock, random, retries }: RepeatDeps,
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
export function isRepeatable({ method, repeatable }: Ask): boolean {
  return repeatable ?? method !== "POST";
}

/** Nobody who listens, a wrong name or an untrusted certificate is not mended by a pause. */
function mayPass({ fault, retryAfterSeconds }: OutOfReach): boolean {
  if (fault === "throttled") return retryAfterSeconds !== undefined;
  return fault === "dropped" || fault === "timed-out" || fault === "unavailable";
}
