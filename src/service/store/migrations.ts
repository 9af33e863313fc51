import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { Database } from "./tables.ts";

/**
 * The SQL statements that make each version of the database from the one before. Forward only: a released migration is never
 * edited; a change is a new one at the end. Each needs a database of its version in test/service/store/versions/. Version 1
 * is that of Pipeline Runs 0.4; those from 2 to 11 were never released.
 */
export const migrations: ReadonlyMap<number, string> = new Map([
  [
    1,
    `create table orgs (
      id text primary key,
      name text not null unique,
      tier text not null,
      parallel_runs integer not null,
      runs_per_day integer not null,
      created_at integer not null
    );
    create table keys (
      id text primary key,
      org_id text not null references orgs (id),
      role text not null,
      hash text not null,
      is_machine integer not null,
      created_at integer not null,
      revoked_at integer
    );
    create table projects (
      org_id text not null references orgs (id),
      name text not null,
      root text not null,
      constraint projects_key primary key (org_id, name)
    );
    create table runs (
      id text primary key,
      org_id text not null references orgs (id),
      project text not null,
      pipeline text not null,
      actor text not null,
      runner text not null,
      status text not null,
      day text not null,
      created_at integer not null,
      stopped_at integer,
      time_limit_seconds integer not null,
      reason text,
      idempotency_key text
    );
    create index runs_of_day on runs (org_id, day);
    create index runs_in_work on runs (org_id, stopped_at);
    create unique index runs_by_idempotency_key on runs (actor, idempotency_key);
    create table steps (
      run_id text not null references runs (id) on delete cascade,
      position integer not null,
      name text not null,
      type text not null,
      status text not null,
      started_at integer,
      stopped_at integer,
      message text,
      constraint steps_key primary key (run_id, position)
    )`,
  ],
  [
    12,
    `alter table orgs add column sequence integer not null default 0;
    alter table keys add column name text;
    alter table runs add column files_removed_at integer;
    alter table runs add column changed integer not null default 0;
    alter table runs add column runner_pid integer;
    alter table runs add column runner_birth text;
    alter table runs add column agent text;
    alter table runs add column asked_at integer;
    alter table runs add column inputs text;
    alter table runs add column outputs text;
    alter table runs add column source text;
    alter table runs add column git_commit text;
    alter table steps add column attempts integer;
    alter table steps add column cleanup integer;
    create table artifacts (
      run_id text not null references runs on delete cascade,
      position integer not null,
      name text not null,
      file text not null,
      media_type text not null,
      bytes integer not null,
      created_at integer not null,
      primary key (run_id, file)
    );
    create table sessions (
      hash text primary key,
      key_id text not null references keys on delete cascade,
      created_at integer not null,
      used_at integer not null
    );
    create table waiters (
      ticket text primary key,
      org_id text not null references orgs,
      actor text not null,
      project text not null,
      pipeline text not null,
      time_limit_seconds integer not null,
      idempotency_key text,
      holder text not null,
      agent text,
      asked_at integer,
      inputs text
    );
    create index keys_of_org on keys (org_id);
    create index sessions_of_key on sessions (key_id);
    create index waiters_of_org on waiters (org_id, ticket);
    create index waiters_by_idempotency_key on waiters (actor, idempotency_key);
    create index runs_not_stopped on runs (id) where stopped_at is null;
    create index runs_by_change on runs (org_id, changed);
    create index runs_of_org on runs (org_id, id);
    -- Behind that of all runs of the org, for which SQLite would pass it over.
    drop index runs_in_work;
    create index runs_in_work on runs (org_id, id) where stopped_at is null;
    create index runs_of_pipeline on runs (org_id, pipeline, id);
    create index runs_of_status on runs (org_id, status, id);
    create index runs_of_actor on runs (org_id, actor, id);
    create index runs_of_project on runs (org_id, project, id);
    create index runs_with_files on runs (stopped_at, id) where files_removed_at is null and stopped_at is not null`,
  ],
]);

/**
 * Migrates the database in one transaction: two processes that open a new database together do it once, and a step that
 * fails changes nothing.
 * @throws PipelineError `internal` when a newer version of the service has written the database, or one that was never released;
 *   it stays as it is.
 */
export async function migrate(db: Database, steps = migrations): Promise<void> {
  const newest = Math.max(...steps.keys());
  if ((await checkedVersion(db, steps)) === newest) return;
  await db.transaction().execute(async (tx) => {
    const version = await checkedVersion(tx, steps);
    for (const [to, statements] of steps) {
      if (to <= version) continue;
      // SQLite takes one at a time.
      for (const statement of statements.split(";")) await sql.raw(statement).execute(tx);
    }
    await sql.raw(`pragma user_version = ${newest}`).execute(tx);
  });
}

async function checkedVersion(db: Database, steps: typeof migrations): Promise<number> {
  const known = Math.max(...steps.keys());
  const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(db);
  const version = rows[0]?.user_version ?? 0;
  if (version === 0 || steps.has(version)) return version;
  if (version < known) {
    throw new PipelineError(
      "internal",
      `The database was written by a Pipeline Runs that was never released: its tables are of version ${version}. Nothing of it is changed.`,
      { next: "Name another folder with PIPELINE_DATA_DIR, or remove the file runs.db with its runs." },
    );
  }
  throw new PipelineError(
    "internal",
    `The database was written by a newer Pipeline Runs: its tables are of version ${version}, this program knows ${known}.`,
    { next: "Update Pipeline Runs, or name another folder with PIPELINE_DATA_DIR." },
  );
}
