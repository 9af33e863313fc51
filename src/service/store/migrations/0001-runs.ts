import type { Database } from "../tables.ts";

/** Orgs, keys, projects, runs and their steps. */
export async function runs(db: Database): Promise<void> {
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
}
