import type { Generated, Kysely, Transaction } from "kysely";
import type { Role } from "../../contract/keys.ts";

/** The tables of the service's database. Instants are milliseconds since 1970; days are `YYYY-MM-DD` in UTC. */
export interface Tables {
  orgs: {
    id: string;
    name: string;
    tier: string;
    parallel_runs: number;
    runs_per_day: number;
    created_at: number;
    /** The sequence number of the last change of one of the org's runs; see `touchRun`. */
    sequence: Generated<number>;
  };
  keys: {
    id: string;
    org_id: string;
    role: Role;
    /** Null for a key without a name. */
    name: string | null;
    /** SHA-256 of the secret, in hex; the secret itself is never stored. */
    hash: string;
    /** 1 for the one key that this machine's own faces use. */
    is_machine: number;
    created_at: number;
    revoked_at: number | null;
  };
  projects: { org_id: string; name: string; root: string };
  runs: {
    id: string;
    org_id: string;
    project: string;
    pipeline: string;
    actor: string;
    runner: string;
    status: string;
    /** The UTC day that the run counts in: the day's count is the number of these rows, stored nowhere else. */
    day: string;
    /** When its start request arrived; null in rows older than this column. */
    asked_at: Generated<number | null>;
    created_at: number;
    /** Null while the run is active: the org's slots in use are the number of such rows, stored nowhere else. */
    stopped_at: number | null;
    time_limit_seconds: number;
    reason: string | null;
    idempotency_key: string | null;
    /** `StoredInputs` as JSON; null for a run without inputs. */
    inputs: Generated<string | null>;
    /** A map of names to values, as JSON. */
    outputs: Generated<string | null>;
    /** The coding agent that started it, as it calls itself. */
    agent: Generated<string | null>;
    /** A `RanPipeline` as JSON; null where it isn't kept, or no longer. */
    source: Generated<string | null>;
    /** The `Commit` that it ran at, as JSON. */
    git_commit: Generated<string | null>;
    /** When its log and artifacts were removed; null while they are there. */
    files_removed_at: Generated<number | null>;
    /** The sequence number of the run's last change; 0 until its caller has the reply. */
    changed: Generated<number>;
    /** The process of the run's runner, and when it began, where the system says so. */
    runner_pid: Generated<number | null>;
    runner_birth: Generated<string | null>;
    /** PostgreSQL only: who holds the run: its runner or, before its launch, its caller's server; and until when. */
    holder: Generated<string | null>;
    lease_until: Generated<number | null>;
    /** PostgreSQL only: what the run does, as a runner gets it (`RunWork`, JSON). */
    work: Generated<string>;
    /** PostgreSQL only: the slot that it holds, from 1. */
    slot: Generated<number>;
    /** PostgreSQL only: the waiter on another server that it was granted to; null once that server knows. */
    ticket: Generated<string | null>;
    /** PostgreSQL only: when its caller had the reply; from then on a runner may take it. Null before. */
    launched_at: Generated<number | null>;
    /** PostgreSQL only: the first reason to stop it (`StopReason`, JSON). */
    stop_reason: Generated<string | null>;
    /** PostgreSQL only: the number of its runner's last message that was taken in. */
    messages: Generated<number>;
    /** PostgreSQL only: the sequence number of its last log entry. */
    log_entries: Generated<number>;
  };
  /** Starts that wait for a slot of their org, in the order of their tickets. */
  waiters: {
    ticket: string;
    org_id: string;
    actor: string;
    project: string;
    pipeline: string;
    time_limit_seconds: number;
    idempotency_key: string | null;
    agent: Generated<string | null>;
    inputs: Generated<string | null>;
    asked_at: Generated<number | null>;
    /** The start of a service that holds the request. */
    holder: string;
    /** PostgreSQL only: as in `runs`. */
    work: Generated<string>;
    git_commit: Generated<string | null>;
  };
  /** PostgreSQL only: the servers, by their starts. Past `alive_until`, a server's waiters are passed over. */
  servers: { id: string; alive_until: number; object_store: Generated<string> };
  /** PostgreSQL only: the object store that the database uses; no row before the first. */
  object_store: { name: string };
  /** PostgreSQL only: runs whose files are in the object store, and have no rows any more. */
  moved_runs: { run_id: string };
  /** PostgreSQL only: pieces of logs. `lines` are JSON lines; `first` is the sequence number of the first. */
  log_chunks: { run_id: string; first: number; lines: string };
  /** PostgreSQL only: what is in an artifact. */
  artifact_contents: { run_id: string; file: string; content: Buffer };
  /** PostgreSQL only: pipelines as the last run that was offered to the runners had them. */
  pipelines: {
    org_id: string;
    project: string;
    name: string;
    path: string;
    text: string;
    snapshot: string | null;
    /** The files that it includes: a map of paths to texts, as JSON. */
    parts: string | null;
    /** The commit that the folder was at: a `Commit` as JSON. */
    git_commit: string | null;
  };
  /** PostgreSQL only: the files of projects, as gzipped tar, by their SHA-256. */
  snapshots: {
    org_id: string;
    digest: string;
    used_at: number;
    /** Whether a start has named it. */
    is_named: Generated<boolean>;
  };
  /** PostgreSQL only: the bytes of snapshots that an org has sent on a UTC day. */
  snapshot_days: { org_id: string; day: string; bytes: number };
  snapshot_pieces: { org_id: string; digest: string; position: number; content: Buffer };
  steps: {
    run_id: string;
    position: number;
    name: string;
    type: string;
    status: string;
    started_at: number | null;
    stopped_at: number | null;
    message: string | null;
    /** How often it was tried; null for a step that is tried once. */
    attempts: Generated<number | null>;
    /** 1 for a step that runs after all others; null for any other. */
    cleanup: Generated<number | null>;
  };
  /** `position` is the step's; `file` the name in the run's folder of artifacts. */
  artifacts: {
    run_id: string;
    position: number;
    name: string;
    file: string;
    media_type: string;
    bytes: number;
    created_at: number;
  };
  /** Browsers that are signed in to the page. */
  sessions: {
    /** SHA-256 of the id that the browser holds, in hex. */
    hash: string;
    key_id: string;
    created_at: number;
    used_at: number;
  };
}

export type Database = Kysely<Tables>;

/** A transaction. Whatever writes more than one row takes this. */
export type Write = Transaction<Tables>;
