import { sql } from "kysely";
import type { Database } from "./tables.ts";

type Step = (db: Database) => Promise<void>;

/** Forward only: a released step is never edited, a change is a new step at the end. */
const steps: readonly Step[] = [
  async (db) => {
    await db.schema
      .createTable("orgs")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("name", "text", (column) => column.notNull().unique())
      .addColumn("tier", "text", (column) => column.notNull())
      .addColumn("parallel_runs", "integer", (column) => column.notNull())
      .addColumn("runs_per_day", "integer", (column) => column.notNull())
      .addColumn("created_at", "integer", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("keys")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
      .addColumn("role", "text", (column) => column.notNull())
      .addColumn("hash", "text", (column) => column.notNull())
      .addColumn("is_machine", "integer", (column) => column.notNull())
      .addColumn("created_at", "integer", (column) => column.notNull())
      .addColumn("revoked_at", "integer")
      .execute();
    await db.schema
      .createTable("projects")
      .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("root", "text", (column) => column.notNull())
      .addPrimaryKeyConstraint("projects_key", ["org_id", "name"])
      .execute();
    await db.schema
      .createTable("runs")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
      .addColumn("project", "text", (column) => column.notNull())
      .addColumn("pipeline", "text", (column) => column.notNull())
      .addColumn("actor", "text", (column) => column.notNull())
      .addColumn("runner", "text", (column) => column.notNull())
      .addColumn("status", "text", (column) => column.notNull())
      .addColumn("day", "text", (column) => column.notNull())
      .addColumn("created_at", "integer", (column) => column.notNull())
      .addColumn("stopped_at", "integer")
      .addColumn("time_limit_seconds", "integer", (column) => column.notNull())
      .addColumn("reason", "text")
      .addColumn("idempotency_key", "text")
      .execute();
    await db.schema.createIndex("runs_of_day").on("runs").columns(["org_id", "day"]).execute();
    await db.schema.createIndex("runs_in_work").on("runs").columns(["org_id", "stopped_at"]).execute();
    await db.schema
      .createIndex("runs_by_idempotency_key")
      .unique()
      .on("runs")
      .columns(["actor", "idempotency_key"])
      .execute();
    await db.schema
      .createTable("steps")
      .addColumn("run_id", "text", (column) => column.notNull().references("runs.id").onDelete("cascade"))
      .addColumn("position", "integer", (column) => column.notNull())
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("type", "text", (column) => column.notNull())
      .addColumn("status", "text", (column) => column.notNull())
      .addColumn("started_at", "integer")
      .addColumn("stopped_at", "integer")
      .addColumn("message", "text")
      .addPrimaryKeyConstraint("steps_key", ["run_id", "position"])
      .execute();
  },
];

/**
 * Brings the database to this version's tables, in one transaction, so that two processes that open a new database
 * together do it once.
 * @throws Error when a newer version of the service has written the database.
 */
export async function migrate(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(tx);
    const version = rows[0]?.user_version ?? 0;
    if (version > steps.length) {
      throw new Error(
        `the database is of version ${version}, this program knows ${steps.length}: update Pipeline Runs`,
      );
    }
    for (const step of steps.slice(version)) await step(tx);
    await sql.raw(`pragma user_version = ${steps.length}`).execute(tx);
  });
}
