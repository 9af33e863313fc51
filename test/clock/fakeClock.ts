import type { Clock } from "../../src/contract/clock.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  /** The wall clock at the beginning; it advances with the monotonic one. */
  wallStart = Date.parse("2026-03-03T10:00:00Z");
  #monotonic = 0;
  readonly #sleepers = new Set<Sleeper>();

  now = (): number => this.wallStart + this.#monotonic;

  monotonic = (): number => this.#monotonic;

  sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const giveUp = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal.reason);
      };
      const sleeper: Sleeper = {
        at: this.#monotonic + Math.max(0, milliseconds),
        wake: () => {
          signal.removeEventListener("abort", giveUp);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  after = (milliseconds: number, callBack: () => void): (() => void) => {
    const cancelled = new AbortController();
    this.sleep(milliseconds, cancelled.signal).then(callBack, () => undefined);
    return () => cancelled.abort();
  };

  /** How many are asleep now: what a test expects to be 0 in the end. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  /** Moves to the moment that the next sleeper waits for, and wakes all of that moment. */
  advanceToNext(): void {
    const next = Math.min(...[...this.#sleepers].map(({ at }) => at));
    if (next === Number.POSITIVE_INFINITY)
      throw new Error("nobody sleeps, so time would stand still forever");
    this.advance(next - this.#monotonic);
  }

  /** Moves by some milliseconds, and wakes whose time has come. */
  advance(milliseconds: number): void {
    this.#monotonic += milliseconds;
    for (const sleeper of [...this.#sleepers].sort((one, other) => one.at - other.at)) {
      if (sleeper.at > this.#monotonic) break;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}
