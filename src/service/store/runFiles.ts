import type { Database } from "./tables.ts";

/** When a run's log and artifacts were removed, in milliseconds since 1970; undefined while they are kept. */
export async function filesRemovedAt(db: Database, runId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("runs")
    .select("files_removed_at")
    .where("id", "=", runId)
    .executeTakeFirst();
  return row?.files_removed_at ?? undefined;
}
