import type { Database } from "../../../pipeline/sql/databaseUrl.ts";
import type { StepSurroundings } from "../stepOutcome.ts";
import { NoConnection } from "./noConnection.ts";
import type { SqlConnection } from "./sqlConnection.ts";
import { SqliteConnection } from "./sqlite/sqliteConnection.ts";

type Opened =
  | { readonly kind: "open"; readonly connection: SqlConnection }
  | { readonly kind: "failed"; readonly problem: string };

/**
 * The connection of a resource, opened by the first step that needs it. What that step leaves there, such as a temporary
 * table, is there for the steps that follow.
 */
export async function openConnection(
  resource: string,
  database: Exclude<Database, { kind: "environment" }>,
  around: StepSurroundings,
  signal: AbortSignal,
): Promise<Opened> {
  try {
    return { kind: "open", connection: await connect(resource, database, around, signal) };
  } catch (error) {
    if (error instanceof NoConnection) return { kind: "failed", problem: error.message };
    if (signal.aborted) return { kind: "failed", problem: "the connection was given up" };
    throw error;
  }
}

async function connect(
  resource: string,
  database: Exclude<Database, { kind: "environment" }>,
  around: StepSurroundings,
  signal: AbortSignal,
): Promise<SqlConnection> {
  switch (database.kind) {
    case "sqlite-memory":
    case "sqlite-file":
      return around.shared.get(SqliteConnection, resource, () =>
        SqliteConnection.open(database, around, signal),
      );
    case "postgres": {
      // Its library is loaded only for a step that needs it.
      const { PostgresConnection } = await import("./postgres/postgresConnection.ts");
      return around.shared.get(PostgresConnection, resource, () =>
        PostgresConnection.open(database, around, signal),
      );
    }
    default:
      return database satisfies never;
  }
}
