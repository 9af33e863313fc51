import type { Clock } from "../../contract/clock.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { RunLogs } from "../runs/runLogs.ts";
import { stopRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import type { Admission } from "./admission.ts";
import { type LeasedRun, leasedRuns, renewLeases } from "./leases.ts";

export interface RecoverDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly bus: EventBus;
  readonly logs: Pick<RunLogs, "mend">;
  /** Ends what is left of a run's processes; resolves when nothing is. */
  readonly endLeftovers: (run: Pick<LeasedRun, "runId" | "runner">) => Promise<void>;
  readonly admission: Pick<Admission, "release">;
  /** The ids of the runs that are being ended now. */
  readonly ending: Set<string>;
}

/**
 * How long a start waits for what is left of earlier runs to be gone, in milliseconds; usually nothing is left. Less than
 * a face waits for the service that it has started.
 */
const patience = 10_000;

/**
 * Start-up is recovery: whatever a service that died left in work has no runner any more. One run whose processes don't
 * end, or whose end can't be written, doesn't keep the service from serving the others: it holds its slot until they do.
 */
export async function recover(deps: RecoverDeps): Promise<void> {
  const { promise: isEnough, resolve } = Promise.withResolvers<void>();
  const takeBack = deps.clock.after(patience, resolve);
  const ended = endNobodysRuns(await leasedRuns(deps.db), "the service died while it ran", deps);
  await Promise.race([ended, isEnough]);
  takeBack();
}

/**
 * Ends runs in work that nobody holds. What is left of their processes is ended first, and only then the slot is
 * given up: no clock decides that, so none that jumps can start a second run. Each still counts in its day. A run that
 * can't be ended now is left for the next time.
 */
async function endNobodysRuns(
  runs: readonly LeasedRun[],
  reason: string,
  deps: Omit<RecoverDeps, "db">,
): Promise<void> {
  const { ending, log } = deps;
  const endings = runs
    .filter(({ runId }) => !ending.has(runId))
    .map(async (run) => {
      const { runId } = run;
      ending.add(runId);
      try {
        await endNobodysRun(run, reason, deps);
      } catch (error) {
        log("error", "a run that nobody holds could not be ended, trying again", { runId, error });
      } finally {
        ending.delete(runId);
      }
    });
  await Promise.all(endings);
}

async function endNobodysRun(run: LeasedRun, reason: string, deps: Omit<RecoverDeps, "db">): Promise<void> {
  const { runId, orgId } = run;
  await deps.endLeftovers(run);
  await deps.logs.mend(runId, reason);
  const isLost = await deps.admission.release(orgId, (tx) =>
    stopRun(tx, runId, { status: "lost", reason }, deps.clock.now()),
  );
  if (!isLost) return;
  deps.log("info", "run lost", { runId, reason });
  deps.bus.emit(orgId, { kind: "org" });
  deps.bus.emit(orgId, { kind: "run", runId });
}

interface LeaseDeps extends RecoverDeps {
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
