import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";

const folder = join(import.meta.dirname, "versions");

/** Where the database of a version is kept as SQL: each that was released stays as it was then. */
export function versionFile(version: number): string {
  return join(folder, `${String(version).padStart(4, "0")}.sql`);
}

/** Makes a database file of a version, with rows in every table, as that version has left it. */
export function buildVersion(version: number, file: string): void {
  const sqlite = new DatabaseSync(file);
  sqlite.exec(`pragma journal_mode = wal; ${readFileSync(versionFile(version), "utf8")}`);
  sqlite.close();
}

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** All that a database file holds: its tables' definitions, and the rows of each. */
export function readDatabase(file: string): {
  readonly version: number;
  readonly schema: readonly string[];
  readonly rows: ReadonlyMap<string, readonly Row[]>;
} {
  const sqlite = new DatabaseSync(file, { readOnly: true });
  try {
    const things = sqlite
      .prepare("select type, name, sql from sqlite_schema where sql is not null order by rootpage")
      .all();
    const tables = things.filter(({ type }) => type === "table").map(({ name }) => String(name));
    return {
      version: Number(sqlite.prepare("pragma user_version").get()?.["user_version"]),
      schema: things.map(({ sql }) => String(sql)),
      rows: new Map(
        tables.map((name) => [name, sqlite.prepare(`select * from "${name}" order by rowid`).all()]),
      ),
    };
  } finally {
    sqlite.close();
  }
}

/** A database file as SQL that makes the same again. */
export function dumpDatabase(file: string): string {
  const { version, schema, rows } = readDatabase(file);
  const inserts = [...rows].flatMap(([table, all]) =>
    all.map((row) => `insert into "${table}" values (${Object.values(row).map(literal).join(", ")});`),
  );
  return [...schema.map((sql) => `${sql};`), ...inserts, `pragma user_version = ${version};`, ""].join("\n");
}

function literal(value: SQLOutputValue): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value === null || typeof value === "number" || typeof value === "bigint") return String(value);
  throw new TypeError("the database holds bytes, which this doesn't write yet");
}
