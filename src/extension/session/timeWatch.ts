import type { Clock } from "../../client/clock.ts";
import type { Alarm } from "../windows/alarm.ts";
import { isOfAnotherDay, type Reading, resetOf } from "./reading.ts";

export interface TimeWatchDeps {
  readonly clock: Clock;
  /** Rung when the window is focused, so that a machine that has slept is noticed as soon as somebody looks. */
  readonly alarm: Alarm;
  /** The numbers at hand; undefined while none are. */
  readonly reading: () => Reading | undefined;
  /** The service's day is over: the numbers are another day's. */
  readonly onNewDay: () => void;
  /** The machine has slept, or was stopped: connections that look open may be dead. */
  readonly onWake: () => void;
}

/** How often the time of day is looked at; timers may stop while a machine sleeps, so a long one would come too late. */
const lookEvery = 20_000;
/** A look that comes so much later than it was set for has been slept through. */
const sleptFor = 30_000;

/** Looks at the time of day until the signal aborts. It asks for nothing. */
export async function watchTime(deps: TimeWatchDeps, signal: AbortSignal): Promise<void> {
  const { clock, alarm } = deps;
  let before = clock.now();
  while (!signal.aborted) {
    const reading = deps.reading();
    const toReset = reading === undefined ? lookEvery : Math.max(0, resetOf(reading) - clock.now());
    await alarm.sleep(Math.min(lookEvery, toReset), signal);
    if (signal.aborted) return;
    const now = clock.now();
    const read = deps.reading();
    if (read !== undefined && isOfAnotherDay(read, now)) deps.onNewDay();
    if (now - before > lookEvery + sleptFor) deps.onWake();
    before = now;
  }
}
