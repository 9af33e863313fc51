import { statement } from "./statement.ts";
import type { Write } from "./tables.ts";

/**
 * Gives a run's change the next number of its org, by which a reader of the events goes on where it left off. To be
 * called in the write that changes the run or what belongs to it. Of a run that there is not nothing is changed.
 */
export async function touchRun(tx: Write, runId: string): Promise<void> {
  await nextNumber.run(tx, { runId });
  await takeNumber.run(tx, { runId });
}

/** Counts the changes of a run's org up by one. */
export const nextNumber = statement<{ runId: string }>()((db, value) =>
  db
    .updateTable("orgs")
    .set(({ eb }) => ({ sequence: eb("sequence", "+", 1) }))
    .where("id", "=", ({ selectFrom }) =>
      selectFrom("runs").select("org_id").where("id", "=", value("runId")),
    ),
);

/** Gives a run the number that the count of its org has come to. */
export const takeNumber = statement<{ runId: string }>()((db, value) =>
  db
    .updateTable("runs")
    .set(({ selectFrom }) => ({
      changed: selectFrom("orgs").select("sequence").whereRef("orgs.id", "=", "runs.org_id"),
    }))
    .where("id", "=", value("runId")),
);
