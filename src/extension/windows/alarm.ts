import type { Clock } from "../../client/clock.ts";

/** A sleep that can be ended early; a ring that comes while nobody sleeps ends the next one at once. */
export class Alarm {
  readonly #clock: Clock;
  #rung = false;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#rung = true;
    this.#sleeping?.abort();
  }

  /** Resolves after `milliseconds`, on a ring, or when the signal aborts, whatever comes first. */
  async sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      const sleeping = new AbortController();
      this.#sleeping = sleeping;
      await this.#clock
        .sleep(milliseconds, AbortSignal.any([signal, sleeping.signal]))
        .catch(() => undefined);
      this.#sleeping = undefined;
    }
    this.#rung = false;
  }
}
