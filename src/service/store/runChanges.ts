import { sql, type UpdateObject } from "kysely";
import type { RunnerIdentity } from "../../runner/processes/runCgroups.ts";
import type { Database, Tables, Write } from "./tables.ts";

export function runRow(db: Database, runId: string) {
  return db.selectFrom("runs").where("id", "=", runId);
}

export async function setRun(tx: Write, runId: string, columns: UpdateObject<Tables, "runs">): Promise<void> {
  await tx.updateTable("runs").set(columns).where("id", "=", runId).execute();
}

/**
 * Gives a run's change the next sequence number of its org, after which a reader of the events can go on. Called in the
 * transaction that changes the run. Does nothing for a missing run.
 */
export async function touchRun(tx: Write, runId: string): Promise<void> {
  await nextNumber(runId).execute(tx);
  await takeNumber(runId).execute(tx);
}

export function nextNumber(runId: string) {
  return sql`update orgs set sequence = sequence + 1 where id = (select org_id from runs where id = ${runId})`;
}

export function takeNumber(runId: string) {
  return sql`
    update runs set changed = (select sequence from orgs where orgs.id = runs.org_id)
    where id = ${runId}`;
}

/** The sequence number of the org's last change; 0 before the first. */
export async function lastChange(db: Database, orgId: string): Promise<number> {
  const org = await db
    .selectFrom("orgs")
    .select("sequence")
    .where("id", "=", orgId)
    .executeTakeFirstOrThrow();
  return org.sequence;
}

export async function lastChanges(db: Database, orgIds: readonly string[]) {
  return db.selectFrom("orgs").select(["id", "sequence"]).where("id", "in", orgIds).execute();
}

/** The org's runs that have changed after a sequence number, each with that of its last change, the oldest change first. */
export async function changedRuns(db: Database, orgId: string, after: number, limit: number) {
  return db
    .selectFrom("runs")
    .select(["id as runId", "changed"])
    .where("org_id", "=", orgId)
    .where("changed", ">", after)
    .orderBy("changed")
    .limit(limit)
    .execute();
}

/** The org's active runs that have begun. A run that was only granted may still be withdrawn. */
export async function begunRuns(db: Database, orgId: string): Promise<string[]> {
  const rows = await db
    .selectFrom("runs")
    .select("id")
    .where("org_id", "=", orgId)
    .where("stopped_at", "is", null)
    .where("changed", ">", 0)
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** A run without an end, of any org. */
export interface ActiveRow {
  readonly runId: string;
  readonly orgId: string;
  readonly runner: RunnerIdentity | undefined;
}

/** The active runs of every org. */
export async function activeRows(db: Database): Promise<ActiveRow[]> {
  const rows = await db
    .selectFrom("runs")
    .select(["id", "org_id", "runner_pid as pid", "runner_birth as birth"])
    .where("stopped_at", "is", null)
    .orderBy("id")
    .execute();
  return rows.map(({ id, org_id, pid, birth }) => ({
    runId: id,
    orgId: org_id,
    runner: pid === null || birth === null ? undefined : { pid, birth },
  }));
}

/** Stores which process runs a run, for the service that recovers it. */
export function setRunner(tx: Write, runId: string, { pid, birth }: RunnerIdentity): Promise<void> {
  return setRun(tx, runId, { runner_pid: pid, runner_birth: birth });
}
