/** Time, passed in, so that a test can hold it still. */
export interface Clock {
  /** The wall clock, in milliseconds since 1970. It may jump; use it only to tell the time of day. */
  now(): number;
  /** A clock that only goes forward, in milliseconds from some beginning. Durations are measured on this one. */
  monotonic(): number;
  /** Resolves after `milliseconds`; rejects with the signal's reason when it aborts first, and leaves no timer. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Node's own promise of a timer makes an error with a stack for each that is ended early, as each request's is.
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
};
