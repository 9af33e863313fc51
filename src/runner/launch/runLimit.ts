import type { Clock } from "../../machine/clock.ts";
import type { RunningJob } from "./launch.ts";

interface RunLimitDeps {
  readonly clock: Clock;
  readonly job: Pick<RunningJob, "stop">;
  /** Of the whole run. */
  readonly limitMilliseconds: number;
  /** The cleanup's part of it, half at most; undefined for a run that cleans nothing up. */
  readonly cleanupMilliseconds: number | undefined;
  /** Called when the run has to stop by its limit: its owner says why, and calls `stop`. */
  readonly onReached: () => void;
}

/** How much of a time limit is the cleanup's. A start may set a shorter limit than the file, of which half is left for the steps. */
export function cleanupPart(limitMilliseconds: number, cleanupMilliseconds = 0): number {
  return Math.min(cleanupMilliseconds, limitMilliseconds / 2);
}

/** Keeps a run's time limit, and stops it in order: its steps, then what cleans up. Disposed when the run is over. */
export class RunLimit implements Disposable {
  readonly #deps: RunLimitDeps;
  readonly #endsAt: number;
  readonly #cleanupMilliseconds: number;
  #cancelTimer: () => void;
  #isStopped = false;

  constructor(deps: RunLimitDeps) {
    const { clock, limitMilliseconds, cleanupMilliseconds } = deps;
    this.#deps = deps;
    this.#endsAt = clock.monotonic() + limitMilliseconds;
    this.#cleanupMilliseconds = cleanupPart(limitMilliseconds, cleanupMilliseconds);
    this.#cancelTimer = clock.after(limitMilliseconds - this.#cleanupMilliseconds, deps.onReached);
  }

  /** The run cleans up by itself, for which it has the rest of its time. */
  cleaningUp(): void {
    if (this.#isStopped) return;
    this.#cancelTimer();
    const { clock, onReached } = this.#deps;
    this.#cancelTimer = clock.after(this.#endsAt - clock.monotonic(), onReached);
  }

  /** Ends the steps and lets the run clean up, as far as there is time; called again, ends it. */
  stop(): void {
    const { clock, job } = this.#deps;
    const rest = this.#endsAt - clock.monotonic();
    const time = this.#isStopped ? 0 : Math.min(this.#cleanupMilliseconds, rest);
    this.#cancelTimer();
    this.#isStopped = true;
    if (time <= 0) {
      job.stop();
      return;
    }
    job.stop(time);
    this.#cancelTimer = clock.after(time, () => job.stop());
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
  }
}
