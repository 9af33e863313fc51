import type { Database } from "./tables.ts";

/** The number of the last change in the org; 0 before the first. */
export async function lastChange(db: Database, orgId: string): Promise<number> {
  const org = await db
    .selectFrom("orgs")
    .select("sequence")
    .where("id", "=", orgId)
    .executeTakeFirstOrThrow();
  return org.sequence;
}

export interface ChangedRun {
  readonly runId: string;
  /** The number of its last change. */
  readonly changed: number;
}

/** The org's runs that have changed since the change numbered `after`, the oldest change first. */
export async function changedRuns(
  db: Database,
  orgId: string,
  after: number,
  limit: number,
): Promise<ChangedRun[]> {
  return db
    .selectFrom("runs")
    .select(["id as runId", "changed"])
    .where("org_id", "=", orgId)
    .where("changed", ">", after)
    .orderBy("changed")
    .limit(limit)
    .execute();
}

/** The org's runs in work that have begun. One that was only admitted may yet be withdrawn, as if it had never been. */
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
