import { secondsToReset, utcDay } from "../../contract/day.ts";
import type { Clock } from "../../machine/clock.ts";
import type { EventBus } from "../store/eventBus.ts";

/** Not one long timer: a machine that sleeps, or a clock that is set, would make it late. */
const longestSeconds = 60;

/**
 * Emits an event to every org at 00:00 UTC, when the day's count starts again. Nothing else happens at midnight: the
 * count is the number of run rows of the current UTC day (`countSlots` in `admission/slots.ts`), so there is nothing to
 * reset. @returns a function that stops it.
 */
export function emitAtMidnight(clock: Pick<Clock, "now" | "after">, bus: EventBus): () => void {
  let cancelTimer = () => {};
  let day = utcDay(clock.now());
  const next = () => {
    cancelTimer = clock.after(Math.min(secondsToReset(clock.now()), longestSeconds) * 1000, () => {
      const today = utcDay(clock.now());
      if (today !== day) bus.emitToAll({ kind: "org" });
      day = today;
      next();
    });
  };
  next();
  return () => cancelTimer();
}
