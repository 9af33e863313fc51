import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { Database } from "./tables.ts";

export type MigrationStep = (db: Database) => Promise<void>;

/**
 * Forward only: a released step is never edited, a change is a new step at the end. Each needs a database of the version
 * that it makes in test/service/store/versions/.
 */
export const migrationSteps: readonly MigrationStep[] = [
  runs,
  artifacts,
  changes,
  leases,
  keyNames,
  sessions,
  runLists,
  narrowedLists,
  waiters,
  startRequests,
  inputs,
  sources,
];

/**
 * Migrates the database in one transaction: two processes that open a new database together do it once, and a step that
 * fails changes nothing.
 * @throws PipelineError `internal` when a newer version of the service has written the database, which stays as it is.
 */
export async function migrate(db: Database, steps: readonly MigrationStep[] = migrationSteps): Promise<void> {
  if ((await checkedVersion(db, steps.length)) === steps.length) return;
  await db.transaction().execute(async (tx) => {
    const version = await checkedVersion(tx, steps.length);
    for (const step of steps.slice(version)) await step(tx);
    await sql.raw(`pragma user_version = ${steps.length}`).execute(tx);
  });
}

async function checkedVersion(db: Database, known: number): Promise<number> {
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  if (version <= known) return version;
  throw new PipelineError(
    "internal",
    `The database was written by a newer Pipeline Runs: its tables are of version ${version}, this program knows ${known}.`,
    { next: "Update Pipeline Runs, or name another folder with PIPELINE_DATA_DIR." },
  );
}

/** Orgs, keys, projects, runs and their steps. */
async function runs(db: Database): Promise<void> {
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

/** The artifacts of runs, and when the files of a run were removed. */
async function artifacts(db: Database): Promise<void> {
  await db.schema
    .createTable("artifacts")
    .addColumn("run_id", "text", (column) => column.notNull().references("runs.id").onDelete("cascade"))
    .addColumn("position", "integer", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("file", "text", (column) => column.notNull())
    .addColumn("media_type", "text", (column) => column.notNull())
    .addColumn("bytes", "integer", (column) => column.notNull())
    .addColumn("created_at", "integer", (column) => column.notNull())
    .addPrimaryKeyConstraint("artifacts_key", ["run_id", "file"])
    .execute();
  await db.schema.alterTable("runs").addColumn("files_removed_at", "integer").execute();
}

/** A number for each change in an org, and for each run the number of its last one. */
async function changes(db: Database): Promise<void> {
  await db.schema
    .alterTable("orgs")
    .addColumn("sequence", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable("runs")
    .addColumn("changed", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex("runs_by_change").on("runs").columns(["org_id", "changed"]).execute();
}

/** The holder of an active run, the end of its lease, and its runner's process. */
async function leases(db: Database): Promise<void> {
  // A column at a time: SQLite adds no more in one statement.
  await db.schema.alterTable("runs").addColumn("holder", "text").execute();
  await db.schema.alterTable("runs").addColumn("lease_until", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_pid", "integer").execute();
  await db.schema.alterTable("runs").addColumn("runner_birth", "text").execute();
  // For the active runs of all orgs.
  await sql`create index runs_not_stopped on runs (id) where stopped_at is null`.execute(db);
}

/** Keys may have a name, and are looked up by their org when they are listed. */
async function keyNames(db: Database): Promise<void> {
  await db.schema.alterTable("keys").addColumn("name", "text").execute();
  await db.schema.createIndex("keys_of_org").on("keys").column("org_id").execute();
}

/** Who is signed in to the page. A session ends with its key. */
async function sessions(db: Database): Promise<void> {
  await db.schema
    .createTable("sessions")
    .addColumn("hash", "text", (column) => column.primaryKey())
    .addColumn("key_id", "text", (column) => column.notNull().references("keys.id").onDelete("cascade"))
    .addColumn("created_at", "integer", (column) => column.notNull())
    .addColumn("used_at", "integer", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("sessions_of_key").on("sessions").columns(["key_id"]).execute();
}

/** Indexes for the newest runs of an org, for those of a pipeline, and for the active ones. */
async function runLists(db: Database): Promise<void> {
  await db.schema.createIndex("runs_of_org").on("runs").columns(["org_id", "id"]).execute();
  await db.schema.createIndex("runs_of_pipeline").on("runs").columns(["org_id", "pipeline", "id"]).execute();
  // The index of all runs by their end would be passed over for the one of all runs of the org.
  await db.schema.dropIndex("runs_in_work").execute();
  await sql`create index runs_in_work on runs (org_id, id) where stopped_at is null`.execute(db);
}

/**
 * Indexes for the newest runs of a status, a key or a project, however rare they are, and for the runs that still have
 * their files.
 */
async function narrowedLists(db: Database): Promise<void> {
  for (const column of ["status", "actor", "project"] as const) {
    await db.schema.createIndex(`runs_of_${column}`).on("runs").columns(["org_id", column, "id"]).execute();
  }
  await sql`create index runs_with_files on runs (stopped_at, id)
    where files_removed_at is null and stopped_at is not null`.execute(db);
}

/** Starts that wait for a slot. */
async function waiters(db: Database): Promise<void> {
  await db.schema
    .createTable("waiters")
    .addColumn("ticket", "text", (column) => column.primaryKey())
    .addColumn("org_id", "text", (column) => column.notNull().references("orgs.id"))
    .addColumn("actor", "text", (column) => column.notNull())
    .addColumn("project", "text", (column) => column.notNull())
    .addColumn("pipeline", "text", (column) => column.notNull())
    .addColumn("time_limit_seconds", "integer", (column) => column.notNull())
    .addColumn("idempotency_key", "text")
    .addColumn("holder", "text", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("waiters_of_org").on("waiters").columns(["org_id", "ticket"]).execute();
  await db.schema
    .createIndex("waiters_by_idempotency_key")
    .on("waiters")
    .columns(["actor", "idempotency_key"])
    .execute();
}

/** The coding agent that started a run, and when its start request arrived. */
async function startRequests(db: Database): Promise<void> {
  await db.schema.alterTable("runs").addColumn("agent", "text").execute();
  await db.schema.alterTable("waiters").addColumn("agent", "text").execute();
  await db.schema.alterTable("runs").addColumn("asked_at", "integer").execute();
  await db.schema.alterTable("waiters").addColumn("asked_at", "integer").execute();
}

/** What a run is given and what it keeps, how often a step was tried, and which steps clean up. */
async function inputs(db: Database): Promise<void> {
  await db.schema.alterTable("runs").addColumn("inputs", "text").execute();
  await db.schema.alterTable("runs").addColumn("outputs", "text").execute();
  await db.schema.alterTable("waiters").addColumn("inputs", "text").execute();
  await db.schema.alterTable("steps").addColumn("attempts", "integer").execute();
  await db.schema.alterTable("steps").addColumn("cleanup", "integer").execute();
}

/** The pipeline file as a run had it, and the commit that it was at. */
async function sources(db: Database): Promise<void> {
  await db.schema.alterTable("runs").addColumn("source", "text").execute();
  await db.schema.alterTable("runs").addColumn("git_commit", "text").execute();
}
