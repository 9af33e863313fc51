import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { endLeftovers } from "./runner/endLeftovers.ts";
import type { ProcessTable } from "./runner/processes/processTable.ts";
import { runsInWork, stopRun } from "./store/runs.ts";
import type { Database } from "./store/tables.ts";

interface RecoverDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly processes: ProcessTable;
  readonly graceMilliseconds: number;
}

/**
 * Start-up is recovery: whatever a service that died left in work has no runner any more. What is left of its
 * processes is ended first, then its place is given up; the run still counts in its day.
 */
export async function recover(db: Database, deps: RecoverDeps): Promise<void> {
  for (const runId of await runsInWork(db)) {
    await endLeftovers({ runId, runner: undefined }, deps);
    await stopRun(db, runId, { status: "lost", reason: "the service died while it ran" }, deps.clock.now());
    deps.log("info", "run lost", { runId });
  }
}
