import { sql } from "kysely";
import type { Database } from "../tables.ts";

/** Who holds a run in work, until when it has said so, and which process runs it. */
export async function leases(db: Database): Promise<void> {
  // A column at a time: SQLite adds no more in one statement.
  await db.schema.alterTable("runs").addColumn("holder", "text").execute();
  await db.schema.alterTable("runs").addColumn("lease_until", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_pid", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_birth", "text").execute();
  // The few rows in work of all orgs, found without reading the many that have ended.
  await sql`create index runs_not_stopped on runs (id) where stopped_at is null`.execute(db);
}
