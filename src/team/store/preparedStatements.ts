import { hash } from "node:crypto";
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import pg from "pg";

/**
 * A pool as Kysely uses it. Once the database refuses a write, as a primary does that has become a standby, all connections
 * opened before are closed: new ones may lead to the database that took its place.
 *
 * Its connections prepare each statement once: PostgreSQL takes longer to plan most of ours than to run them. Statements name
 * their columns, since PostgreSQL refuses a prepared `*` once a newer server has added a column.
 */
export function preparedStatements(pool: pg.Pool): PostgresPool {
  let usable = new WeakSet<pg.PoolClient>();
  pool.on("connect", (client) => void usable.add(client));
  const connections: Connections = {
    isUsable: (client) => usable.has(client),
    onReadOnly: () => (usable = new WeakSet()),
  };
  return {
    options: pool.options,
    async connect() {
      for (;;) {
        const client = await pool.connect();
        if (connections.isUsable(client)) return new PreparingClient(client, connections);
        client.release(true);
      }
    },
    end: () => pool.end(),
  };
}

interface Connections {
  isUsable(client: pg.PoolClient): boolean;
  onReadOnly(): void;
}

/** A statement with more values isn't prepared: it has a list, and each length would be another statement, kept for an hour. */
const mostValues = 100;

/** `read_only_sql_transaction` */
const readOnlyCode = "25006";

const everyColumn = /(?:\.|\bselect |\breturning )\*/;

class PreparingClient implements PostgresPoolClient {
  readonly #client: pg.PoolClient;
  readonly #connections: Connections;

  constructor(client: pg.PoolClient, connections: Connections) {
    this.#client = client;
    this.#connections = connections;
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== "string") throw new Error("there are no cursors here");
    return this.#query(text, values).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError && error.code === readOnlyCode) this.#connections.onReadOnly();
      throw error;
    });
  }

  release(isDestroyed = false): void {
    this.#client.release(isDestroyed || !this.#connections.isUsable(this.#client));
  }

  async #query(text: string, values: readonly unknown[]): Promise<unknown> {
    // A text without values may hold several statements, and those can't be prepared.
    if (values.length === 0) return this.#client.query(text);
    if (everyColumn.test(text)) throw new Error(`the columns are not named: ${text}`);
    if (values.length > mostValues) return this.#client.query(text, [...values]);
    const name = hash("sha256", text, "base64url");
    return this.#client.query({ name, text, values: [...values] });
  }
}
