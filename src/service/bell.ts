import type { Clock } from "../contract/clock.ts";

/** Wakes one who waits for news. Rung while nobody waits, it wakes the next one at once. */
export class Bell {
  #isRung = false;
  #wake = (): void => {};

  ring = (): void => {
    this.#isRung = true;
    this.#wake();
  };

  /**
   * Waits until it is rung, for at most so many milliseconds.
   * @returns whether it was rung; also when the signal is aborted, which the caller looks at.
   */
  async wait(clock: Pick<Clock, "after">, milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#isRung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const stopTimer = clock.after(milliseconds, resolve);
        this.#wake = () => {
          stopTimer();
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
