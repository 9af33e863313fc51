import type { Clock } from "../../contract/clock.ts";
import type { Changes } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { RunLogs } from "../runs/runLogs.ts";
import { stopRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { Admission } from "./admission.ts";
import { type LeasedRun, leasedRuns } from "./leases.ts";

export interface RecoverDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly changes: Changes;
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
export async function endNobodysRuns(
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
  deps.changes.tell(orgId, { kind: "org" });
  deps.changes.tell(orgId, { kind: "run", runId });
}
