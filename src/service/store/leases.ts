import type { RunnerIdentity } from "../../runner/processes/runCgroups.ts";
import { setRun } from "./runChanges.ts";
import type { Database, Write } from "./tables.ts";

/** How long a lease lasts, in milliseconds. */
export const leaseMilliseconds = 30_000;

/** An active run, and the start of a service that holds it. */
export interface LeasedRun {
  readonly runId: string;
  readonly orgId: string;
  /** Undefined in rows older than leases. */
  readonly holder: string | undefined;
  /** Milliseconds since 1970. */
  readonly leaseUntil: number | undefined;
  readonly runner: RunnerIdentity | undefined;
}

/** Renews the leases of a holder's active runs. @param until milliseconds since 1970. */
export async function renewLeases(tx: Write, holder: string, until: number): Promise<void> {
  await tx
    .updateTable("runs")
    .set({ lease_until: until })
    .where("holder", "=", holder)
    .where("stopped_at", "is", null)
    .execute();
}

/** Stores which process runs a run, for the service that recovers it. */
export function setRunner(tx: Write, runId: string, { pid, birth }: RunnerIdentity): Promise<void> {
  return setRun(tx, runId, { runner_pid: pid, runner_birth: birth });
}

/** The active runs of every org. */
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
