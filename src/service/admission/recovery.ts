import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import type { RunLogs } from "../runs/runLogs.ts";
import type { EventBus } from "../store/eventBus.ts";
import { type LeasedRun, leasedRuns, leaseMilliseconds, renewLeases } from "../store/leases.ts";
import { stopRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import type { Admission } from "./admission.ts";

export interface RecoverDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly bus: EventBus;
  readonly logs: Pick<RunLogs, "mend">;
  /** Ends what is left of a run's processes; resolves when nothing is. */
  readonly endLeftovers: (run: Pick<LeasedRun, "runId" | "runner">) => Promise<void>;
  readonly admission: Pick<Admission, "release">;
  /** The ids of the runs that are being recovered now. */
  readonly recovering: Set<string>;
}

/**
 * How long a start waits for the processes of earlier runs to end, in milliseconds; usually there are none. Less than a
 * face waits for the service that it has started.
 */
const startTimeout = 10_000;

/**
 * Ends the runs that an earlier start of the service has left active. A run that can't be ended in time keeps its slot, and
 * doesn't keep the service from starting.
 */
export async function recover(deps: RecoverDeps): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const cancelTimer = deps.clock.after(startTimeout, resolve);
  const recovered = recoverRuns(await leasedRuns(deps.db), "the service died while it ran", deps);
  await Promise.race([recovered, timeout]);
  cancelTimer();
}

/**
 * Ends active runs that have no holder. What is left of their processes is ended before the slot is released: no clock
 * decides that, so a clock that jumps starts no second run. A run that can't be ended now is left for the next sweep.
 */
async function recoverRuns(
  runs: readonly LeasedRun[],
  reason: string,
  deps: Omit<RecoverDeps, "db">,
): Promise<void> {
  const { recovering, log } = deps;
  const recoveries = runs
    .filter(({ runId }) => !recovering.has(runId))
    .map(async (run) => {
      const { runId } = run;
      recovering.add(runId);
      try {
        await recoverRun(run, reason, deps);
      } catch (error) {
        log("error", "a run without a holder could not be ended, trying again", { runId, error });
      } finally {
        recovering.delete(runId);
      }
    });
  await Promise.all(recoveries);
}

async function recoverRun(run: LeasedRun, reason: string, deps: Omit<RecoverDeps, "db">): Promise<void> {
  const { runId, orgId } = run;
  const { admission, bus, log } = deps;
  await deps.endLeftovers(run);
  await deps.logs.mend(runId, reason);
  const isLost = await admission.release(orgId, (tx, now) =>
    stopRun(tx, runId, { status: "lost", reason }, now),
  );
  if (!isLost) return;
  log("info", "run lost", { runId, reason });
  bus.emit(orgId, { kind: "org" });
  bus.emit(orgId, { kind: "run", runId });
}

export interface LeaseDeps extends RecoverDeps {
  readonly writer: Writer;
  /** This start of the service. */
  readonly holder: string;
  /** The ids of the runs that it holds now. */
  readonly activeIds: () => ReadonlySet<string>;
}

const renewMilliseconds = 10_000;

export interface Leases {
  /** Recovers runs without a holder soon. */
  sweep(): void;
  /** Stops renewing; resolves when no sweep is under way. */
  stop(): Promise<void>;
}

/**
 * Renews the leases of the active runs, and recovers the runs without a holder, so that a run keeps no slot for long,
 * whatever fault has left it active. The service knows its own runs from memory, whatever the clock says. Runs of another
 * holder are left alone while their lease lasts.
 */
export function keepLeases(deps: LeaseDeps): Leases {
  const { clock, log } = deps;
  const { soon, stop } = repeat(clock, renewMilliseconds, async () => {
    try {
      await renewAndSweep(deps);
    } catch (error) {
      log("error", "the leases of runs could not be renewed, trying again", { error });
    }
  });
  return { sweep: soon, stop };
}

async function renewAndSweep(deps: LeaseDeps): Promise<void> {
  const { holder, clock } = deps;
  const before = deps.activeIds();
  await deps.writer.write((tx) => renewLeases(tx, holder, clock.now() + leaseMilliseconds));
  const rows = await leasedRuns(deps.db);
  // A run of before may have ended since the rows were read, and one of after may have been granted.
  const after = deps.activeIds();
  const hasNoHolder = ({ runId, ...row }: LeasedRun) =>
    !before.has(runId) &&
    !after.has(runId) &&
    (row.holder === holder || row.leaseUntil === undefined || isExpired(row.leaseUntil, clock.now()));
  // Not awaited: a run that doesn't end must hold up neither the next sweep nor the shutdown.
  void recoverRuns(rows.filter(hasNoHolder), "nobody held it", deps);
}

/** A lease longer than any that is given was written before a clock was set back: it has expired too. */
function isExpired(leaseUntil: number, now: number): boolean {
  return leaseUntil <= now || leaseUntil > now + leaseMilliseconds;
}
