/** Time, passed in so that a test can hold it still. */
export interface Clock {
  /** The wall clock, in milliseconds since 1970. It may jump: use it only for the time of day. */
  now(): number;
  /** Milliseconds from some beginning, never set back: for durations. */
  monotonic(): number;
  /** Resolves after `milliseconds`; rejects with the signal's reason when it aborts first, and leaves no timer. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Calls back once after `milliseconds`. @returns a function that cancels it. */
  after(milliseconds: number, callBack: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // `timers/promises` would make an error with a stack for each sleep that ends early, and every request has one.
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, milliseconds);
      signal.addEventListener("abort", onAbort, { once: true });
    }),
  after(milliseconds, callBack) {
    const timer = setTimeout(callBack, milliseconds);
    return () => clearTimeout(timer);
  },
};

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
