import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
} from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { prepareDataFolder } from "../../machine/dataFolder.ts";
import type { Log } from "../../machine/log.ts";
import { migrate } from "./migrations.ts";
import { damagedDatabase, storageFault } from "./storageFault.ts";
import type { Database, Tables } from "./tables.ts";

/** How long a process waits for another's write, in milliseconds (`keys create` runs beside a service). */
export const busyMilliseconds = 5_000;

interface OpenOptions {
  /**
   * How long beginning a transaction may block this process while another one writes, in milliseconds. 0 for a service, whose
   * `sqliteWriter` tries again.
   */
  readonly lockMilliseconds?: number;
  readonly log?: Log;
}

export function databaseFile(folder: string): string {
  return join(folder, "runs.db");
}

/**
 * Opens and migrates the database of the data folder. Full sync: what a reply says is on the disk. Every statement's error
 * about the disk is a PipelineError that says what to do next (see `storageFault`).
 * @throws PipelineError `internal` when the folder or file can't be used, or is damaged.
 */
export async function openDatabase(
  folder: string,
  { lockMilliseconds = busyMilliseconds, log = () => {} }: OpenOptions = {},
): Promise<Database> {
  const file = databaseFile(folder);
  try {
    // `serve` has already refused another user's folder; a tool works beside a service wherever the service does.
    await prepareDataFolder(folder, "allowed");
    // It is open now, or was after a crash: the last one to close it removes its WAL.
    const isLeftOpen = (await sizeOf(`${file}-wal`)) > 0;
    // SQLite would silently remove the WAL and begin with an empty database.
    if (isLeftOpen && (await sizeOf(file)) === 0)
      throw damagedDatabase(file, "it is empty, but its WAL isn't");
    // SQLite would make it readable for everyone, and gives its other files the same mode.
    await (await open(file, "a", 0o600)).close();
    if (isLeftOpen) {
      log("info", "the database was not closed: it is checked");
      refuseDamaged(file);
    }
    const sqlite = new DatabaseSync(file);
    const lock = { milliseconds: busyMilliseconds };
    const config = { database: forKysely(sqlite, file), lock };
    const db = new Kysely<Tables>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new ImmediateDriver(config),
        createIntrospector: (of) => new SqliteIntrospector(of),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    });
    try {
      sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
      await migrate(db);
      sqlite.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
      // Otherwise each savepoint that changes a few pages makes a temporary file.
      sqlite.exec("pragma temp_store = memory");
      // Only after the migration, for which one of two processes that open a new database together has to wait.
      lock.milliseconds = lockMilliseconds;
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

/** In bytes; 0 where there is no such file. */
async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}

/**
 * Refuses an inconsistent database before anything is written. SQLite reads a WAL up to the first frame with a wrong
 * checksum, as a crash leaves it. A damaged WAL is cut off there too; but later frames may have been checkpointed already,
 * and old pages would be mixed with new ones.
 * @throws PipelineError `internal` when it is damaged, or SQLite's own error.
 */
function refuseDamaged(file: string): void {
  const wrong = damageIn(file);
  // The first lines only name the database.
  if (wrong !== undefined) throw damagedDatabase(file, wrong.split("\n").at(-1) ?? "");
}

/** What is damaged in a database, in SQLite's words; undefined for nothing. */
export function damageIn(file: string): string | undefined {
  const found = lookInto(file, (sqlite) => sqlite.prepare("pragma quick_check(1)").get());
  const [verdict] = Object.values(found ?? {});
  return verdict === "ok" ? undefined : String(verdict);
}

/** Opens a database read-only for a moment, without creating or migrating it. */
export function lookInto<T>(file: string, look: (sqlite: DatabaseSync) => T): T {
  using sqlite = new DatabaseSync(file, { readOnly: true });
  // A process that is closing the database locks it for a moment.
  sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
  return look(sqlite);
}

/** Takes the write lock when a transaction begins, so that one that reads first never fails to write. */
class ImmediateDriver extends SqliteDriver {
  readonly #config: DialectConfig;

  constructor(config: DialectConfig) {
    super(config);
    this.#config = config;
  }

  override async beginTransaction(): Promise<void> {
    const { database, lock } = this.#config;
    const wait = (milliseconds: number) => {
      if (lock.milliseconds !== busyMilliseconds)
        database.prepare(`pragma busy_timeout = ${milliseconds}`).all([]);
    };
    wait(lock.milliseconds);
    try {
      database.prepare("begin immediate").run([]);
    } finally {
      wait(busyMilliseconds);
    }
  }

  /** SQLite rolls back by itself when the disk fails. That first error counts, not that of this rollback. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await connection.executeQuery(CompiledQuery.raw("rollback"));
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("no transaction is active"))) throw error;
    }
  }
}

interface DialectConfig {
  readonly database: SqliteDatabase;
  readonly lock: { readonly milliseconds: number };
}

/** The most prepared statements: far more than the service has, except for lists of ids of every length. */
const mostStatements = 300;

/** node:sqlite as Kysely's SQLite library, with a cache of prepared statements. */
function forKysely(sqlite: DatabaseSync, file: string): SqliteDatabase {
  const withFaults = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw storageFault(error, file);
    }
  };
  const statements = new Map<string, SqliteStatement>();
  const prepare = (text: string): SqliteStatement => {
    const statement = withFaults(() => sqlite.prepare(text));
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => withFaults(() => statement.all(...parameters.map(asInput))),
      run: (parameters) => withFaults(() => statement.run(...parameters.map(asInput))),
      iterate: (parameters) => withFaults(() => statement.iterate(...parameters.map(asInput))),
    };
  };
  return {
    close: () => sqlite.close(),
    prepare(text) {
      const known = statements.get(text);
      if (known !== undefined) return known;
      const statement = prepare(text);
      statements.set(text, statement);
      const [oldest] = statements.keys();
      if (statements.size > mostStatements && oldest !== undefined) statements.delete(oldest);
      return statement;
    },
  };
}

function asInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  throw new TypeError(`a ${typeof value} can't be stored`);
}
