import type { Clock } from "../../contract/clock.ts";
import { newestIdTime } from "../store/ids.ts";
import { BelievedTime } from "./believedTime.ts";
import { type SweepDeps, sweepRuns } from "./sweepRuns.ts";

const everyMilliseconds = 3_600_000;

/**
 * Removes the files of runs that are no longer to be kept, now and then each hour on the service's clock.
 * @returns the way to stop, which resolves when nothing is being removed any more.
 */
export function keepSwept(deps: SweepDeps & { readonly clock: Clock }): () => Promise<void> {
  const { clock, db, folder, log } = deps;
  const time = new BelievedTime({ folder, newestRun: () => newestIdTime(db), log });
  let takeBack = () => {};
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async () => {
    try {
      const count = await sweepRuns(deps, await time.at(clock.now()));
      if (count > 0) log("info", "files of runs removed", { runs: count });
    } catch (error) {
      log("error", "files of runs not removed", { error });
    }
  };
  const next = () => {
    sweeping = sweeping.then(sweep);
    takeBack = clock.after(everyMilliseconds, next);
  };
  next();
  return async () => {
    takeBack();
    await sweeping;
  };
}
