import type { Clock } from "../../src/contract/clock.ts";

interface Alarm {
  readonly at: number;
  readonly ring: () => void;
}

/** A clock that stands still until a test turns it. Alarms ring in the order of their times. */
export class TurnedClock implements Clock {
  #now: number;
  /** Time that only goes forward: what alarms are set by, also when the time of day is set back. */
  #elapsed = 0;
  readonly #alarms = new Set<Alarm>();

  constructor(start: string) {
    this.#now = Date.parse(start);
  }

  /** How many alarms are set. */
  get alarms(): number {
    return this.#alarms.size;
  }

  now = (): number => this.#now;

  monotonic = (): number => this.#elapsed;

  sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const cancel = this.after(milliseconds, resolve);
      const onAbort = (): void => {
        cancel();
        reject(signal.reason);
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });

  after = (milliseconds: number, callBack: () => void): (() => void) => {
    const alarm: Alarm = { at: this.#elapsed + milliseconds, ring: callBack };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  };

  /** Lets so many milliseconds pass. */
  turn(milliseconds: number): void {
    const end = this.#elapsed + milliseconds;
    for (;;) {
      const due = [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      const [alarm] = due;
      if (alarm === undefined) break;
      this.#alarms.delete(alarm);
      this.#now += alarm.at - this.#elapsed;
      this.#elapsed = alarm.at;
      alarm.ring();
    }
    this.#now += end - this.#elapsed;
    this.#elapsed = end;
  }

  /** Sets the time of day, as a person or a time server does. */
  set(instant: string): void {
    this.#now = Date.parse(instant);
  }
}
