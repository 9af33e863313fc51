import type { Clock } from "../../src/machine/clock.ts";

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/** A clock that stands still until a test moves it. Alarms ring in the order of their times. */
export class FakeClock implements Clock {
  #now: number;
  /** Time that only goes forward: what alarms are set by, also when the time of day is set back. */
  #elapsed = 0;
  readonly #alarms = new Set<Alarm>();

  constructor(start = "2026-03-03T10:00:00Z") {
    this.#now = Date.parse(start);
  }

  /** How many alarms are set, also by those who sleep: what a test expects to be 0 in the end. */
  get alarms(): number {
    return this.#alarms.size;
  }

  /** How many of them ring in exactly so many milliseconds. */
  alarmsIn(milliseconds: number): number {
    return [...this.#alarms].filter(({ at }) => at - this.#elapsed === milliseconds).length;
  }

  now = (): number => this.#now;

  monotonic = (): number => this.#elapsed;

  sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const giveUp = (): void => {
        cancel();
        reject(signal.reason);
      };
      const cancel = this.after(milliseconds, () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      });
      signal.addEventListener("abort", giveUp, { once: true });
    });

  after = (milliseconds: number, callBack: () => void): (() => void) => {
    const alarm: Alarm = { at: this.#elapsed + Math.max(0, milliseconds), ring: callBack };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  };

  /** Lets so many milliseconds pass. */
  advance(milliseconds: number): void {
    const end = this.#elapsed + milliseconds;
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.at > end) break;
      this.#alarms.delete(next);
      this.#passTo(next.at);
      next.ring();
    }
    this.#passTo(end);
  }

  /** Moves to the moment of the next alarm, and rings all of that moment. */
  advanceToNext(): void {
    const next = this.#next();
    if (next === undefined) throw new Error("nobody sleeps, so time would stand still forever");
    this.advance(next.at - this.#elapsed);
  }

  /** Sets the time of day, as a person or a time server does. */
  set(instant: string | number): void {
    this.#now = new Date(instant).getTime();
  }

  #next(): Alarm | undefined {
    return [...this.#alarms].sort((one, other) => one.at - other.at)[0];
  }

  #passTo(elapsed: number): void {
    this.#now += elapsed - this.#elapsed;
    this.#elapsed = elapsed;
  }
}
