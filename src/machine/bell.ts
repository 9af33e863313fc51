import type { Clock } from "./clock.ts";

/** Wakes one waiter. Rung while nobody waits, it wakes the next one at once. */
export class Bell {
  #isRung = false;
  #wake = (): void => {};

  ring = (): void => {
    this.#isRung = true;
    this.#wake();
  };

  /** Waits for a ring, until `milliseconds` have passed or the signal is aborted. @returns whether it was rung. */
  async wait(clock: Pick<Clock, "after">, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isRung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const cancelTimer = clock.after(milliseconds, resolve);
        this.#wake = () => {
          cancelTimer();
          resolve();
        };
        signal.addEventListener("abort", this.#wake, { once: true });
      });
      signal.removeEventListener("abort", this.#wake);
      this.#wake = () => {};
    }
    const wasRung = this.#isRung;
    this.#isRung = false;
    return wasRung;
  }
}

/** Does something again and again, with a pause in between. @param act never rejects. */
export function repeat(clock: Pick<Clock, "after">, milliseconds: number, act: () => Promise<unknown>) {
  const stopping = new AbortController();
  const bell = new Bell();
  const repeating = (async () => {
    while (!stopping.signal.aborted) {
      await act();
      await bell.wait(clock, milliseconds, stopping.signal);
    }
  })();
  return {
    /** Does it again without the pause. */
    soon: bell.ring,
    /** Resolves once it is done for the last time. */
    async stop() {
      stopping.abort();
      await repeating;
    },
  };
}
