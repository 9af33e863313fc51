import { type Clock, systemClock } from "../../src/machine/clock.ts";

/** A clock that runs `times` as fast as the real one, so that timeouts end sooner. */
export function hurriedClock(times: number): Clock {
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() * times,
    sleep: (milliseconds, signal) => systemClock.sleep(milliseconds / times, signal),
    after: (milliseconds, callBack) => systemClock.after(milliseconds / times, callBack),
  };
}
