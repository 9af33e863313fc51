import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { SqliteAdapter, type SqliteDatabase, type SqliteStatement } from "kysely";
import { storageFault } from "./storageFault.ts";
import type { Database } from "./tables.ts";

/** Far more texts than the service's code has; only lists of ids make others, each length one of its own. */
const mostKept = 300;

/** What Kysely asks of a SQLite library, by the one inside Node. A statement is prepared when its text is first met. */
export function forKysely(sqlite: DatabaseSync, file: string): SqliteDatabase {
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
      reader: givesRows.test(text),
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

/** Keeps the connection of a `Kysely` at hand for whoever is in a transaction of it. */
export class NodeSqliteAdapter extends SqliteAdapter {
  readonly connection: SqliteDatabase;

  constructor(connection: SqliteDatabase) {
    super();
    this.connection = connection;
  }
}

/**
 * The connection that a transaction has to itself until it ends; undefined outside of one, where others may be in the
 * middle of theirs, and for a database of another kind.
 */
export function connectionOf(db: Database): SqliteDatabase | undefined {
  if (!db.isTransaction) return undefined;
  const { adapter } = db.getExecutor();
  return adapter instanceof NodeSqliteAdapter ? adapter.connection : undefined;
}

/** Told from the statement's text, since the oldest Node that serves (22.13) can't say what a statement gives. */
const givesRows = /^\s*(?:select|with|pragma|explain)\b|\breturning\b/i;

function asInput(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  throw new TypeError(`a ${typeof value} can't be stored`);
}
