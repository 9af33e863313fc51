import type { Clock } from "../../machine/clock.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { RunningJob } from "./launch.ts";

interface RunLimitDeps {
  readonly clock: Clock;
  readonly job: Pick<RunningJob, "stop">;
  /** Of the whole run. */
  readonly limitMilliseconds: number;
  /** The cleanup's part of it. */
  readonly cleanupMilliseconds: number;
  /**
   * Called when the run has to stop by its limit: its owner says why, and calls `stop`.
   * @param stepsMilliseconds what the steps had of the limit; undefined where they had all of it, or are over.
   */
  readonly onReached: (stepsMilliseconds?: number) => void;
}

/** The cleanup's part of a run's time limit: if the limit is shorter than the file's, half of it at most. */
export function cleanupPart(
  limitMilliseconds: number,
  { timeLimitSeconds, cleanupMilliseconds = 0 }: Pick<Pipeline, "timeLimitSeconds" | "cleanupMilliseconds">,
): number {
  const isShorter = limitMilliseconds < timeLimitSeconds * 1000;
  return isShorter ? Math.min(cleanupMilliseconds, limitMilliseconds / 2) : cleanupMilliseconds;
}

/** Keeps a run's time limit, and stops it in order: its steps, then what cleans up. Disposed when the run is over. */
export class RunLimit implements Disposable {
  readonly #deps: RunLimitDeps;
  readonly #endsAt: number;
  #cancelTimer: () => void;
  #isStopped = false;

  constructor(deps: RunLimitDeps) {
    const { clock, limitMilliseconds, cleanupMilliseconds } = deps;
    this.#deps = deps;
    this.#endsAt = clock.monotonic() + limitMilliseconds;
    const steps = limitMilliseconds - cleanupMilliseconds;
    this.#cancelTimer = clock.after(steps, () => deps.onReached(cleanupMilliseconds > 0 ? steps : undefined));
  }

  /** Called when the run cleans up by itself, for which it has the rest of its time. */
  cleaningUp(): void {
    if (this.#isStopped) return;
    this.#cancelTimer();
    const { clock, onReached } = this.#deps;
    this.#cancelTimer = clock.after(this.#endsAt - clock.monotonic(), () => onReached());
  }

  /** Ends the steps and lets the run clean up, as far as there is time; called again, ends the cleanup. */
  stop(): void {
    const { clock, job, cleanupMilliseconds } = this.#deps;
    const rest = this.#endsAt - clock.monotonic();
    const time = this.#isStopped ? 0 : Math.min(cleanupMilliseconds, rest);
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
