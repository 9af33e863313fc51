import { sql } from "kysely";
import type { Database } from "../tables.ts";

/** Indexes for the newest runs of an org, for those of a pipeline, and for the active ones. */
export async function runLists(db: Database): Promise<void> {
  await db.schema.createIndex("runs_of_org").on("runs").columns(["org_id", "id"]).execute();
  await db.schema.createIndex("runs_of_pipeline").on("runs").columns(["org_id", "pipeline", "id"]).execute();
  // The index of all runs by their end would be passed over for the one of all runs of the org.
  await db.schema.dropIndex("runs_in_work").execute();
  await sql`create index runs_in_work on runs (org_id, id) where stopped_at is null`.execute(db);
}
