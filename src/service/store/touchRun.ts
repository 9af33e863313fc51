import type { Write } from "./tables.ts";

/**
 * Gives a run's change the next number of its org, by which a reader of the events goes on where it left off. To be
 * called in the write that changes the run or what belongs to it.
 */
export async function touchRun(tx: Write, runId: string): Promise<void> {
  const run = await tx
    .selectFrom("runs")
    .innerJoin("orgs", "orgs.id", "runs.org_id")
    .select(["orgs.id", "orgs.sequence"])
    .where("runs.id", "=", runId)
    .executeTakeFirst();
  if (run === undefined) return;
  const changed = run.sequence + 1;
  await tx.updateTable("orgs").set({ sequence: changed }).where("id", "=", run.id).execute();
  await tx.updateTable("runs").set({ changed }).where("id", "=", runId).execute();
}
