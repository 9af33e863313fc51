import { sql } from "kysely";
import type { Database } from "../tables.ts";

/** The newest runs of an org, of one of its pipelines, or in work, are read from the end of an index and not sorted out of all. */
export async function runLists(db: Database): Promise<void> {
  await db.schema.createIndex("runs_of_org").on("runs").columns(["org_id", "id"]).execute();
  await db.schema.createIndex("runs_of_pipeline").on("runs").columns(["org_id", "pipeline", "id"]).execute();
  // The index of all runs by their end would be passed over for the one of all runs of the org.
  await db.schema.dropIndex("runs_in_work").execute();
  await sql`create index runs_in_work on runs (org_id, id) where stopped_at is null`.execute(db);
}
