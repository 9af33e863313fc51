import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { storageFault } from "./storageFault.ts";

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
