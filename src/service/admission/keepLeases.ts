import type { Writer } from "../store/writer.ts";
import { type LeasedRun, leasedRuns, renewLeases } from "./leases.ts";
import { endNobodysRuns, type RecoverDeps } from "./recovery.ts";

export interface LeaseDeps extends RecoverDeps {
  readonly writer: Writer;
  /** This start of the service. */
  readonly holder: string;
  /** The ids of the runs that it holds now. */
  readonly held: () => ReadonlySet<string>;
}

/** How long a holder's word is good for, and how often it is given anew, in milliseconds. */
export const leaseMilliseconds = 30_000;
const renewEvery = 10_000;

export interface Leases {
  /** Looks for runs that nobody holds now, and not at the next time. Resolves when their ends are on the way. */
  sweep(): Promise<void>;
  /** Looks no more; resolves when no look is under way. */
  stop(): Promise<void>;
}

/**
 * Says again and again that the runs in work are held, and ends those that nobody holds: whatever fault has left a run
 * in work, it keeps no slot for long. The own runs are known from memory, whatever the clock says; another holder's,
 * which a single service meets only at its start, are left alone while their lease lasts.
 */
export function keepLeases(deps: LeaseDeps): Leases {
  const { clock, log } = deps;
  let stopped = false;
  let working = Promise.resolve();
  const sweep = (): Promise<void> => {
    working = working.then(async () => {
      if (stopped) return;
      try {
        await renewAndSweep(deps);
      } catch (error) {
        log("error", "the leases of runs could not be renewed, trying again", { error });
      }
    });
    return working;
  };
  let takeBack = () => {};
  const next = () => {
    takeBack = clock.after(renewEvery, () => {
      next();
      void sweep();
    });
  };
  next();
  return {
    sweep,
    async stop() {
      stopped = true;
      takeBack();
      await working;
    },
  };
}

async function renewAndSweep(deps: LeaseDeps): Promise<void> {
  const { holder, clock } = deps;
  const before = deps.held();
  await deps.writer.write((tx) => renewLeases(tx, holder, clock.now() + leaseMilliseconds));
  const rows = await leasedRuns(deps.db);
  // Who was held before the look may have ended since, and who is held after it may have come since.
  const after = deps.held();
  const isNobodys = ({ runId, ...row }: LeasedRun) =>
    !before.has(runId) &&
    !after.has(runId) &&
    (row.holder === holder || row.leaseUntil === undefined || isOver(row.leaseUntil, clock.now()));
  // Not waited for: one that doesn't end must hold up neither the next look nor the end of the service.
  void endNobodysRuns(rows.filter(isNobodys), "nobody held it", deps);
}

/** Nobody says today that he will live tomorrow: a lease that goes on for longer was given before a clock was set back. */
function isOver(leaseUntil: number, now: number): boolean {
  return leaseUntil <= now || leaseUntil > now + leaseMilliseconds;
}
