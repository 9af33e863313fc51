import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";
import { prepareDataFolder } from "../../client/embedded/dataFolder.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Log } from "../log.ts";
import { migrate } from "./migrations.ts";
import { damagedDatabase, storageFault } from "./storageFault.ts";
import type { Database, Tables } from "./tables.ts";

/** How long one process waits for another's write, in milliseconds (`keys create` works beside a running service). */
export const busyMilliseconds = 5_000;

interface OpenOptions {
  /**
   * How long a transaction's begin blocks the whole process while another one writes, in milliseconds. 0 for a service,
   * which has others to answer meanwhile: its `Writer` asks again.
   */
  readonly lockMilliseconds?: number;
  readonly log?: Log;
}

/** The database's file in the data folder. */
export function databaseFile(folder: string): string {
  return join(folder, "runs.db");
}

/**
 * Opens the database in the data folder and brings it up to date. Full sync: what a reply has promised is on the disk.
 * Every statement's error about the disk is a PipelineError that says what to do next (see `storageFault`).
 * @throws PipelineError `internal` when the folder or file can't be used, or is damaged.
 */
export async function openDatabase(
  folder: string,
  { lockMilliseconds = busyMilliseconds, log = () => {} }: OpenOptions = {},
): Promise<Database> {
  const file = databaseFile(folder);
  try {
    // Whether root may serve it is decided before; who works beside a service works wherever that does.
    await prepareDataFolder(folder, "allowed");
    // SQLite gives its other files the mode of this one, which it would make readable for everyone.
    await (await open(file, "a", 0o600)).close();
    if (await isLeftOpen(file)) {
      log("info", "the database was not closed: it is checked");
      quickCheck(file);
    }
    const sqlite = new DatabaseSync(file);
    const lock = { milliseconds: busyMilliseconds };
    const config = { database: forKysely(sqlite, file), lock };
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(config) });
    try {
      sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
      await migrate(db);
      sqlite.exec("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
      // Not before: of two that open a new database together one has to wait.
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

/** Whether somebody has the database open, or a crash has left it so: whoever is the last to close it removes its WAL. */
async function isLeftOpen(file: string): Promise<boolean> {
  const wal = await stat(`${file}-wal`).catch(() => undefined);
  return (wal?.size ?? 0) > 0;
}

/**
 * Refuses a database whose pages don't fit together, before anything is written. SQLite reads a WAL up to the first frame whose
 * checksum is wrong and goes on, since a write that a crash cut short looks the same. A damaged one is cut off there too; but
 * what is behind may have been put into the database already, and then old pages would stand among new ones.
 *
 * For reading only, so that nothing is tidied up. @throws PipelineError `internal` when it is damaged; SQLite's own error.
 */
function quickCheck(file: string): void {
  const sqlite = new DatabaseSync(file, { readOnly: true });
  try {
    // Who ends beside this holds it for a moment.
    sqlite.exec(`pragma busy_timeout = ${busyMilliseconds}`);
    const [verdict] = Object.values(sqlite.prepare("pragma quick_check(1)").get() ?? {});
    // The line before the last names the only database that there is.
    if (verdict !== "ok") throw damagedDatabase(file, String(verdict).split("\n").at(-1) ?? "");
  } finally {
    sqlite.close();
  }
}

/** Takes the write lock when a transaction begins, so that one that reads before it writes is never turned away. */
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

  override async commitTransaction(): Promise<void> {
    this.#config.database.prepare("commit").run([]);
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

interface DialectConfig {
  readonly database: SqliteDatabase;
  readonly lock: { readonly milliseconds: number };
}

class NodeSqliteDialect extends SqliteDialect {
  readonly #config: DialectConfig;

  constructor(config: DialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#config);
  }
}

/** Far more texts than the service's code has; only lists of ids make others, each length one of its own. */
const mostKept = 300;

/** What Kysely asks of a SQLite library, by the one inside Node. A statement is prepared when its text is first met. */
function forKysely(sqlite: DatabaseSync, file: string): SqliteDatabase {
  const told = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw storageFault(error, file);
    }
  };
  const kept = new Map<string, SqliteStatement>();
  const prepare = (text: string): SqliteStatement => {
    const statement = told(() => sqlite.prepare(text));
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => told(() => statement.all(...parameters.map(asInput))),
      run: (parameters) => told(() => statement.run(...parameters.map(asInput))),
      iterate: (parameters) => told(() => statement.iterate(...parameters.map(asInput))),
    };
  };
  return {
    close: () => sqlite.close(),
    prepare(text) {
      const known = kept.get(text);
      if (known !== undefined) return known;
      const statement = prepare(text);
      kept.set(text, statement);
      const [oldest] = kept.keys();
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
      return statement;
    },
  };
}

function asInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  throw new TypeError(`a ${typeof value} can't be stored`);
}
