import { sql } from "kysely";
import type { Database } from "../tables.ts";

/**
 * Indexes for the newest runs of a status, a key or a project, however rare they are, and for the runs that still have
 * their files.
 */
export async function narrowedLists(db: Database): Promise<void> {
  for (const column of ["status", "actor", "project"] as const) {
    await db.schema.createIndex(`runs_of_${column}`).on("runs").columns(["org_id", column, "id"]).execute();
  }
  await sql`create index runs_with_files on runs (stopped_at, id)
    where files_removed_at is null and stopped_at is not null`.execute(db);
}
