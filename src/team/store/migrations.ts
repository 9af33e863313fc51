import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import type { Database } from "../../service/store/tables.ts";

/**
 * Forward only: a released step is never edited; a change is a new step at the end. A step only adds: servers of the previous
 * version have to keep working with the tables while the servers are upgraded one after the other.
 */
const migrationSteps: readonly string[] = [
  `create table orgs (
    id text primary key,
    name text not null unique,
    tier text not null,
    parallel_runs integer not null,
    runs_per_day integer not null,
    created_at bigint not null,
    sequence bigint not null default 0
  );
  create table keys (
    id text primary key,
    org_id text not null references orgs,
    role text not null,
    name text,
    hash text not null,
    is_machine integer not null,
    created_at bigint not null,
    revoked_at bigint
  );
  create index keys_of_org on keys (org_id);
  create table sessions (
    hash text primary key,
    key_id text not null references keys on delete cascade,
    created_at bigint not null,
    used_at bigint not null
  );
  create index sessions_of_key on sessions (key_id);
  create table pipelines (
    org_id text not null references orgs,
    project text not null,
    name text not null,
    path text not null,
    text text not null,
    snapshot text,
    primary key (org_id, project, name)
  );
  create table snapshots (
    org_id text not null references orgs,
    digest text not null,
    used_at bigint not null,
    primary key (org_id, digest)
  );
  create table snapshot_pieces (
    org_id text not null,
    digest text not null,
    position integer not null,
    content bytea not null,
    primary key (org_id, digest, position),
    foreign key (org_id, digest) references snapshots on delete cascade
  );
  -- They are compressed already.
  alter table snapshot_pieces alter column content set storage external;
  create table runs (
    id text collate "C" primary key,
    org_id text not null references orgs,
    project text not null,
    pipeline text not null,
    actor text not null,
    runner text not null,
    status text not null,
    day text not null,
    slot integer not null,
    created_at bigint not null,
    stopped_at bigint,
    time_limit_seconds integer not null,
    reason text,
    agent text,
    asked_at bigint,
    idempotency_key text,
    files_removed_at bigint,
    changed bigint not null default 0,
    work text not null,
    ticket text,
    holder text,
    lease_until bigint,
    launched_at bigint,
    stop_reason text,
    messages bigint not null default 0,
    log_entries bigint not null default 0
  );
  create unique index runs_by_slot on runs (org_id, slot) where stopped_at is null;
  create unique index runs_by_ticket on runs (ticket) where ticket is not null;
  create unique index runs_by_idempotency_key on runs (actor, idempotency_key);
  create index runs_of_day on runs (org_id, day);
  create index runs_by_change on runs (org_id, changed);
  create index runs_in_work on runs (org_id, id) where stopped_at is null;
  create index runs_of_org on runs (org_id, id);
  create index runs_of_pipeline on runs (org_id, pipeline, id);
  create index runs_of_status on runs (org_id, status, id);
  create index runs_of_actor on runs (org_id, actor, id);
  create index runs_of_project on runs (org_id, project, id);
  create index runs_with_files on runs (stopped_at, id) where files_removed_at is null and stopped_at is not null;
  create table steps (
    run_id text collate "C" not null references runs on delete cascade,
    position integer not null,
    name text not null,
    type text not null,
    status text not null,
    started_at bigint,
    stopped_at bigint,
    message text,
    primary key (run_id, position)
  );
  create table log_chunks (
    run_id text collate "C" not null references runs on delete cascade,
    first bigint not null,
    lines text not null,
    primary key (run_id, first)
  );
  create table artifacts (
    run_id text collate "C" not null references runs on delete cascade,
    position integer not null,
    name text not null,
    file text not null,
    media_type text not null,
    bytes bigint not null,
    created_at bigint not null,
    primary key (run_id, file)
  );
  create table artifact_contents (
    run_id text collate "C" not null,
    file text not null,
    content bytea not null,
    primary key (run_id, file),
    foreign key (run_id) references runs on delete cascade
  );
  create sequence tickets;
  create table waiters (
    ticket text collate "C" primary key,
    org_id text not null references orgs,
    actor text not null,
    project text not null,
    pipeline text not null,
    time_limit_seconds integer not null,
    idempotency_key text,
    agent text,
    asked_at bigint,
    holder text not null,
    work text not null
  );
  create index waiters_of_org on waiters (org_id, ticket);
  create index waiters_of_holder on waiters (holder);
  create index waiters_by_idempotency_key on waiters (actor, idempotency_key);
  create table servers (
    id text primary key,
    alive_until bigint not null
  );`,
  `alter table snapshots add column is_named boolean not null default true;
  create table snapshot_days (
    org_id text not null references orgs,
    day text not null,
    bytes bigint not null,
    primary key (org_id, day)
  );`,
  `alter table runs add column inputs text, add column outputs text;
  alter table waiters add column inputs text;
  alter table steps add column attempts integer, add column cleanup integer;
  alter table pipelines add column parts text;`,
  `alter table runs add column source text, add column git_commit text;
  alter table waiters add column git_commit text;
  alter table pipelines add column git_commit text;`,
  `create table object_store (is_only boolean primary key default true check (is_only), name text not null);
  create table moved_runs (run_id text collate "C" primary key references runs on delete cascade);
  alter table servers add column object_store text not null default '';`,
];

/** The advisory lock under which servers that start together migrate one after the other. */
const migrationLock = 4_130_551;
/**
 * How long, in milliseconds, a step waits for a table that something else uses, such as a backup. Meanwhile the other servers'
 * statements on that table wait behind it.
 */
const tableMilliseconds = 4_000;

/**
 * Migrates the database in one transaction, under an advisory lock. Fails if something else uses a table for too long: the
 * next start tries again.
 * @throws PipelineError `internal` when a newer version of the service has written the database, which stays as it is.
 */
export async function migratePostgres(db: Database): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // A migration may take as long as it needs, and this one waits for any other.
    await sql`set local statement_timeout = 0; set local lock_timeout = 0`.execute(tx);
    await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(tx);
    await sql`set local lock_timeout = ${sql.lit(tableMilliseconds)}`.execute(tx);
    await sql`create table if not exists schema_version (version integer not null)`.execute(tx);
    const { rows } = await sql<{ version: number }>`select version from schema_version`.execute(tx);
    const version = rows[0]?.version ?? 0;
    if (version > migrationSteps.length) {
      throw new PipelineError(
        "internal",
        `The database was written by a newer Pipeline Runs: its tables are of version ${version}, this program knows ${migrationSteps.length}.`,
        { next: "Update Pipeline Runs on this machine, or name another database." },
      );
    }
    if (version === migrationSteps.length) return;
    for (const step of migrationSteps.slice(version)) await sql.raw(step).execute(tx);
    await sql`delete from schema_version`.execute(tx);
    await sql`insert into schema_version values (${migrationSteps.length})`.execute(tx);
  });
}
