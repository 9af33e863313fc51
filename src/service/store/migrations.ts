import { sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { runs } from "./migrations/0001-runs.ts";
import { artifacts } from "./migrations/0002-artifacts.ts";
import { changes } from "./migrations/0003-changes.ts";
import { leases } from "./migrations/0004-leases.ts";
import { keyNames } from "./migrations/0005-key-names.ts";
import { sessions } from "./migrations/0006-sessions.ts";
import { runLists } from "./migrations/0007-run-lists.ts";
import { narrowedLists } from "./migrations/0008-narrowed-lists.ts";
import { waiters } from "./migrations/0009-waiters.ts";
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
