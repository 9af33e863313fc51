import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Database } from "../../../../pipeline/sql/databaseUrl.ts";
import { NoConnection } from "../noConnection.ts";
import type { SqliteRequest } from "./sqliteProtocol.ts";

export type SqliteDatabase = Extract<Database, { kind: "sqlite-file" | "sqlite-memory" }>;
type Place = Omit<Extract<SqliteRequest, { kind: "open" }>, "kind">;

/**
 * Where a database is. SQLite would make a file that is missing, so that a path with a slip in it would be an empty
 * database; it is made only where the file says so.
 *
 * @throws NoConnection
 */
export async function locate(database: SqliteDatabase, root: string): Promise<Place> {
  if (database.kind === "sqlite-memory") {
    return { location: ":memory:", name: "the database in memory", isReadOnly: false };
  }
  const { mode, path } = database;
  const location = resolve(root, path);
  const found = await kindOf(location);
  switch (found) {
    case "file":
      break;
    case "folder":
      throw new NoConnection(`${path} is a folder and no database`);
    case "none":
      if (mode !== "rwc") {
        throw new NoConnection(
          `there is no database ${path} (${location}); to have it made, write \`sqlite:${path}?mode=rwc\``,
        );
      }
      if ((await kindOf(dirname(location))) !== "folder") {
        throw new NoConnection(`${path} can't be made: there is no folder ${dirname(location)}`);
      }
      break;
    default:
      found satisfies never;
  }
  return { location, name: path, isReadOnly: mode === "ro" };
}

async function kindOf(path: string): Promise<"file" | "folder" | "none"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return "none";
    throw new NoConnection(`${path} can't be read (${String(code)})`);
  }
}
