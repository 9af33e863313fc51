import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { PipelineError } from "../../../contract/errors.ts";
import type { Database, Tables } from "../tables.ts";
import { migratePostgres } from "./migrations.ts";

/** The most connections of one server; a further request waits for one. */
const mostConnections = 16;
/** How long a request waits for a connection, in milliseconds. */
const connectionMilliseconds = 5_000;
/** How long a suspended server keeps a lock in the middle of a transaction, in milliseconds: others wait for it. */
const suspendedMilliseconds = 2_000;
/** The oldest PostgreSQL that is supported. */
const oldestVersion = 15;

/** A database that is open, and its pool for what Kysely has no words for. */
export interface OpenPostgres {
  readonly db: Database;
  readonly pool: pg.Pool;
}

/**
 * Opens and migrates the database of a `postgres://` URL.
 * @param onError called when an idle connection breaks; the pool makes a new one.
 * @throws PipelineError `internal` when it is out of reach, too old or newer than this program.
 */
export async function openPostgres(url: string, onError: (error: Error) => void): Promise<OpenPostgres> {
  // 8-byte integers are counts and milliseconds here, all of them exact as numbers.
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: mostConnections,
    connectionTimeoutMillis: connectionMilliseconds,
    keepAlive: true,
    idle_in_transaction_session_timeout: suspendedMilliseconds,
    application_name: "pipeline-runs",
  });
  pool.on("error", onError);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const { rows } = await sql<{ version: number }>`
      select current_setting('server_version_num')::int / 10000 as version`.execute(db);
    const version = rows[0]?.version ?? 0;
    if (version < oldestVersion) {
      throw new PipelineError(
        "internal",
        `The database is PostgreSQL ${version}; ${oldestVersion} or later is needed.`,
        { next: "Upgrade it, or name another with --database." },
      );
    }
    await migratePostgres(db);
    return { db, pool };
  } catch (cause) {
    await db.destroy();
    if (cause instanceof PipelineError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The database can't be used: ${why}.`, {
      cause,
      next: "Check the URL of --database, and that its user may create tables.",
    });
  }
}
