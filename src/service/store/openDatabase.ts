import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
} from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { migrate } from "./migrations.ts";
import type { Database, Tables } from "./tables.ts";

/** How long one process waits for another's write, in milliseconds (`keys create` works beside a running service). */
const busyMilliseconds = 5_000;

/**
 * Opens the database in the data folder and brings it up to date. Full sync: what a reply has promised is on the disk.
 * @throws PipelineError `internal` with one sentence when the folder or file can't be used.
 */
export async function openDatabase(folder: string): Promise<Database> {
  const file = join(folder, "runs.db");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // SQLite gives its other files the mode of this one, which it would make readable for everyone.
    await (await open(file, "a", 0o600)).close();
    const sqlite = new DatabaseSync(file, { timeout: busyMilliseconds });
    sqlite.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect({ database: forKysely(sqlite) }) });
    try {
      await migrate(db);
    } catch (error) {
      await db.destroy();
      throw error;
    }
    return db;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The database ${file} can't be used: ${why}.`, {
      cause,
      next: "Check that the folder can be written and the disk isn't full, or name another with PIPELINE_DATA_DIR.",
    });
  }
}

/** Takes the write lock when a transaction begins, so that one that reads before it writes is never turned away. */
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }
}

class NodeSqliteDialect extends SqliteDialect {
  readonly #config: { database: SqliteDatabase };

  constructor(config: { database: SqliteDatabase }) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#config);
  }
}

/** What Kysely asks of a SQLite library, by the one inside Node. */
function forKysely(sqlite: DatabaseSync): SqliteDatabase {
  return {
    close: () => sqlite.close(),
    prepare(text) {
      const statement = sqlite.prepare(text);
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...parameters.map(asInput)),
        run: (parameters) => statement.run(...parameters.map(asInput)),
        iterate: (parameters) => statement.iterate(...parameters.map(asInput)),
      };
    },
  };
}

function asInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  throw new TypeError(`a ${typeof value} can't be stored`);
}
