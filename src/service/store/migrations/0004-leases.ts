import { sql } from "kysely";
import type { Database } from "../tables.ts";

/** The holder of an active run, the end of its lease, and its runner's process. */
export async function leases(db: Database): Promise<void> {
  // A column at a time: SQLite adds no more in one statement.
  await db.schema.alterTable("runs").addColumn("holder", "text").execute();
  await db.schema.alterTable("runs").addColumn("lease_until", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_pid", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_birth", "text").execute();
  // For the active runs of all orgs.
  await sql`create index runs_not_stopped on runs (id) where stopped_at is null`.execute(db);
}
