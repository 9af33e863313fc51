import { sql } from "kysely";
import { runs } from "./migrations/0001-runs.ts";
import { keyNames } from "./migrations/0005-key-names.ts";
import type { Database } from "./tables.ts";

type Step = (db: Database) => Promise<void>;

/** Forward only: a released step is never edited, a change is a new step at the end. */
const steps: readonly Step[] = [runs, keyNames];

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
