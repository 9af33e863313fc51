import { type Clock, systemClock } from "../../src/machine/clock.ts";

/** A clock on which durations pass so many times as fast: patience of seconds is over in fractions of them. */
export function hurriedClock(times: number): Clock {
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() * times,
    sleep: (milliseconds, signal) => systemClock.sleep(milliseconds / times, signal),
    after: (milliseconds, callBack) => systemClock.after(milliseconds / times, callBack),
  };
}
