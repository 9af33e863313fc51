import { type Clock, systemClock } from "../../src/client/clock.ts";

/** A clock on which durations pass so many times as fast: patience of seconds is over in fractions of them. */
export function hurriedClock(times: number): Clock {
  return {
    now: systemClock.now,
    monotonic: () => systemClock.monotonic() * times,
    sleep: (milliseconds, signal) => systemClock.sleep(milliseconds / times, signal),
  };
}
