import { hash } from "node:crypto";
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";

/**
 * A pool as Kysely uses it, whose connections prepare each statement once: PostgreSQL needs longer to plan most of ours
 * than to run them. A statement names its columns: of one with `*`, PostgreSQL refuses the plan once a newer server has
 * added a column.
 */
export function preparedStatements(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    connect: async () => new PreparingClient(await pool.connect()),
    end: () => pool.end(),
  };
}

/** A statement with more values isn't prepared: it has a list, and each length would be another statement, kept for an hour. */
const mostValues = 100;

const everyColumn = /(?:\.|\bselect |\breturning )\*/;

class PreparingClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== "string") throw new Error("there are no cursors here");
    // A text without values may hold several statements, and those can't be prepared.
    if (values.length === 0) return this.#client.query(text);
    if (everyColumn.test(text)) throw new Error(`the columns are not named: ${text}`);
    if (values.length > mostValues) return this.#client.query(text, [...values]);
    const name = hash("sha256", text, "base64url");
    return this.#client.query({ name, text, values: [...values] });
  }

  release(isDestroyed?: boolean): void {
    this.#client.release(isDestroyed);
  }
}
