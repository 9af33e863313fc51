import { repeat } from "../../machine/clock.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { RunLogs } from "../runs/runLogs.ts";
import { type ActiveRow, activeRows } from "../store/runChanges.ts";
import { stopRun } from "../store/runs.ts";
import type { StoreDeps } from "../store/storeDeps.ts";
import type { Admission } from "./admission.ts";

export interface RecoverDeps extends StoreDeps {
  readonly logs: Pick<RunLogs, "mend">;
  /** Ends the remaining processes of a run; resolves when none is left. */
  readonly endLeftovers: (run: Pick<ActiveRow, "runId" | "runner">) => Promise<void>;
  readonly admission: Pick<Admission, "release">;
  /** The ids of the runs that are being recovered now. */
  readonly recovering: Set<string>;
}

/**
 * How long the service's start waits for processes of earlier runs to end, in milliseconds; usually there are none. Shorter
 * than a face waits for a service that it has started.
 */
const startTimeout = 10_000;

/**
 * Ends the runs that an earlier start of the service left active. A run that can't be ended in time keeps its slot, but
 * the service starts all the same.
 */
export async function recover(deps: RecoverDeps): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const cancelTimer = deps.clock.after(startTimeout, resolve);
  const recovered = recoverRuns(await activeRows(deps.db), "the service died while it ran", deps);
  await Promise.race([recovered, timeout]);
  cancelTimer();
}

/**
 * Ends active runs that nobody holds. Their remaining processes are ended before the slot is released, whatever the clock
 * says, so that a clock jump can't start a second run. A run that can't be ended now is left for the next sweep.
 */
async function recoverRuns(runs: readonly ActiveRow[], reason: string, deps: RecoverDeps): Promise<void> {
  const { recovering, log } = deps;
  const recoveries = runs
    .filter(({ runId }) => !recovering.has(runId))
    .map(async (run) => {
      const { runId } = run;
      recovering.add(runId);
      try {
        await recoverRun(run, reason, deps);
      } catch (error) {
        log("error", "a run that nobody holds could not be ended, trying again", { runId, error });
      } finally {
        recovering.delete(runId);
      }
    });
  await Promise.all(recoveries);
}

async function recoverRun(run: ActiveRow, reason: string, deps: RecoverDeps): Promise<void> {
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

const sweepMilliseconds = 10_000;

/**
 * Recovers active runs that this service doesn't hold, so that no fault keeps a slot for long. No other service can hold
 * them while this one has the folder's lock.
 * @returns `soon` sweeps at once; `stop` resolves when no sweep is under way.
 */
export function sweepActive(
  deps: RecoverDeps,
  runs: Pick<ActiveRuns, "ids" | "isStopping">,
): ReturnType<typeof repeat> {
  return repeat(deps.clock, sweepMilliseconds, async () => {
    try {
      const before = runs.ids();
      const rows = await activeRows(deps.db);
      // Excludes both lists: a run may have ended, or been granted, while the rows were read.
      const after = runs.ids();
      // If the lock was lost, another service may have runs by now.
      if (runs.isStopping) return;
      const unheld = rows.filter(({ runId }) => !before.has(runId) && !after.has(runId));
      // Not awaited: a run that doesn't end must hold up neither the next sweep nor the shutdown.
      void recoverRuns(unheld, "nobody held it", deps);
    } catch (error) {
      deps.log("error", "active runs could not be looked for, trying again", { error });
    }
  });
}
