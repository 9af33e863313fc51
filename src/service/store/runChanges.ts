import type { Database, Write } from "./tables.ts";

/**
 * Gives a run's change the next number of its org, by which a reader of the events goes on where it left off. To be
 * called in the write that changes the run or what belongs to it. Of a run that there is not nothing is changed.
 */
export async function touchRun(tx: Write, runId: string): Promise<void> {
  await nextNumber(tx, runId).execute();
  await takeNumber(tx, runId).execute();
}

/** Counts the changes of a run's org up by one. */
export function nextNumber(db: Database, runId: string) {
  return db
    .updateTable("orgs")
    .set(({ eb }) => ({ sequence: eb("sequence", "+", 1) }))
    .where("id", "=", ({ selectFrom }) => selectFrom("runs").select("org_id").where("id", "=", runId));
}

/** Gives a run the number that the count of its org has come to. */
export function takeNumber(db: Database, runId: string) {
  return db
    .updateTable("runs")
    .set(({ selectFrom }) => ({
      changed: selectFrom("orgs").select("sequence").whereRef("orgs.id", "=", "runs.org_id"),
    }))
    .where("id", "=", runId);
}
