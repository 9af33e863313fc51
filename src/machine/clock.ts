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
