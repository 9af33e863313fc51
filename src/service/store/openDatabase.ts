import { open } from "node:fs/promises";
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
import { ownDataFolder } from "../../client/ownDataFolder.ts";
import { PipelineError } from "../../contract/errors.ts";
import { migrate } from "./migrations.ts";
import { storageFault } from "./storageFault.ts";
import type { Database, Tables } from "./tables.ts";

/** How long one process waits for another's write, in milliseconds (`keys create` works beside a running service). */
const busyMilliseconds = 5_000;

/** The database's file in the data folder. */
export function databaseFile(folder: string): string {
  return join(folder, "runs.db");
}

/**
 * Opens the database in the data folder and brings it up to date. Full sync: what a reply has promised is on the disk.
 * Every statement's error about the disk is a PipelineError that says what to do next (see `storageFault`).
 * @throws PipelineError `internal` when the folder or file can't be used.
 */
export async function openDatabase(folder: string): Promise<Database> {
  const file = databaseFile(folder);
  try {
    await ownDataFolder(folder);
    // SQLite gives its other files the mode of this one, which it would make readable for everyone.
    await (await open(file, "a", 0o600)).close();
    const sqlite = new DatabaseSync(file);
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect({ database: forKysely(sqlite, file) }) });
    try {
      sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
      await migrate(db);
      sqlite.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
    } catch (error) {
      await db.destroy();
      throw error;
    }
    return db;
  } catch (cause) {
    const fault = storageFault(cause, file);
    if (fault instanceof PipelineError) throw fault;
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

  /** SQLite rolls back by itself where the disk fails; what has failed then is told, and not that nothing was left to undo. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await connection.executeQuery(CompiledQuery.raw("rollback"));
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("no transaction is active"))) throw error;
    }
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
function forKysely(sqlite: DatabaseSync, file: string): SqliteDatabase {
  const told = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw storageFault(error, file);
    }
  };
  return {
    close: () => sqlite.close(),
    prepare(text) {
      const statement = told(() => sqlite.prepare(text));
      return {
        reader: givesRows.test(text),
        all: (parameters) => told(() => statement.all(...parameters.map(asInput))),
        run: (parameters) => told(() => statement.run(...parameters.map(asInput))),
        iterate: (parameters) => told(() => statement.iterate(...parameters.map(asInput))),
      };
    },
  };
}

/** Told from the statement's text, since the oldest Node that serves (22.13) can't say what a statement gives. */
const givesRows = /^\s*(?:select|with|pragma|explain)\b|\breturning\b/i;

function asInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  throw new TypeError(`a ${typeof value} can't be stored`);
}
