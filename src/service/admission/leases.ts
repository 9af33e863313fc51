import type { RunnerIdentity } from "../runner/processes/processTable.ts";
import type { Database, Write } from "../store/tables.ts";

/** A run in work, and who says that it holds it. */
export interface LeasedRun {
  readonly runId: string;
  readonly orgId: string;
  /** Undefined in rows older than leases. */
  readonly holder: string | undefined;
  /** Milliseconds since 1970. */
  readonly leaseUntil: number | undefined;
  readonly runner: RunnerIdentity | undefined;
}

/** Says anew that the active runs of a holder are held. */
export async function renewLeases(tx: Write, holder: string, until: number): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ lease_until: until })
    .where("holder", "=", holder)
    .where("stopped_at", "is", null)
    .execute();
}

/** Keeps which process runs a run, for the start of a service that finds it left behind. */
export async function setRunner(tx: Write, runId: string, runner: RunnerIdentity): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ runner_pid: runner.pid, runner_birth: runner.birth })
    .where("id", "=", runId)
    .execute();
}

/** The runs in work of every org. */
export async function leasedRuns(db: Database): Promise<LeasedRun[]> {
  const rows = await db
    .selectFrom("runs")
    .select(["id", "org_id", "holder", "lease_until", "runner_pid", "runner_birth"])
    .where("stopped_at", "is", null)
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    runId: row.id,
    orgId: row.org_id,
    holder: row.holder ?? undefined,
    leaseUntil: row.lease_until ?? undefined,
    runner:
      row.runner_pid === null || row.runner_birth === null
        ? undefined
        : { pid: row.runner_pid, birth: row.runner_birth },
  }));
}
