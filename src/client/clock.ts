import { setTimeout as pause } from "node:timers/promises";

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
  async sleep(milliseconds, signal) {
    try {
      await pause(milliseconds, undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  },
};
