import { hash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { Socket } from "node:net";
import {
  Kysely,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
  sql,
} from "kysely";
import pg from "pg";
import { PipelineError } from "../../contract/errors.ts";
import { codeOf } from "../../project/systemErrors.ts";
import type { Database, Tables } from "../../service/store/tables.ts";
import { migratePostgres } from "./migrations.ts";

/** The most connections of one server; a further request waits for one. */
const mostConnections = 16;
/** How long a connection lives, in seconds. The statements that are prepared on it live no longer. */
const longestLife = 3_600;
/** How long a request waits for a connection, in milliseconds. */
const connectionMilliseconds = 5_000;
/** How long a transaction may be idle, in milliseconds: a suspended server must not keep a lock that others wait for. */
const suspendedMilliseconds = 2_000;
/** How long a statement waits for a lock, in milliseconds: the caller needs a reply, and the bus must not count as silent. */
const lockMilliseconds = 4_000;
/** How long a connection in use may be silent, in milliseconds: nothing else reveals a half-open one. */
const silentMilliseconds = 15_000;
/** How long a statement may take, in milliseconds. If its connection closed first, it would go on in the database. */
const statementMilliseconds = silentMilliseconds - 1_000;
/** The oldest PostgreSQL that is supported. */
const oldestVersion = 15;

/**
 * The first statements on each connection; poolers such as pgbouncer refuse these settings as startup parameters. Whatever the
 * database's default is, statements under an org's lock have to see what was committed while the lock was waited for. A
 * read-only database is refused: it may be a former primary whose place another has taken.
 */
export const sessionSettings = `
  set default_transaction_isolation = 'read committed';
  set idle_in_transaction_session_timeout = ${suspendedMilliseconds};
  set lock_timeout = ${lockMilliseconds};
  set statement_timeout = ${statementMilliseconds};
  do $$ begin
    if current_setting('transaction_read_only')::boolean then
      raise read_only_sql_transaction using message = 'the database is read-only';
    end if;
  end $$`;

/**
 * A database's URL for `pg`, with the parameters as PostgreSQL's own programs understand them: by default `pg` treats
 * `sslmode=require` as `verify-full`, with a warning.
 * @throws PipelineError `usage` for the URL of anything else.
 */
export function connectionString(url: string): string {
  if (!/^postgres(ql)?:\/\//.test(url)) {
    throw new PipelineError("usage", "A database for many machines is PostgreSQL.", {
      next: "Name it with a URL that begins with postgres://.",
    });
  }
  return `${url}${url.includes("?") ? "&" : "?"}uselibpqcompat=true`;
}

/** An open database, and its pool for what Kysely can't do. */
export interface OpenPostgres {
  readonly db: Database;
  readonly pool: pg.Pool;
}

/**
 * Opens and migrates the database of a `postgres://` URL.
 * @param onError called when a connection breaks; the pool makes a new one.
 * @throws PipelineError `internal` when it is out of reach, too old or newer than this program.
 */
export async function openPostgres(url: string, onError: (error: Error) => void): Promise<OpenPostgres> {
  // 8-byte integers are counts and milliseconds here, all of them exact as numbers.
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  let isOpen = false;
  const pool = new pg.Pool({
    connectionString: connectionString(url),
    types,
    max: mostConnections,
    connectionTimeoutMillis: connectionMilliseconds,
    maxLifetimeSeconds: longestLife,
    keepAlive: true,
    // A migration may take as long as it needs.
    stream: () => socketThatEnds(() => isOpen),
    onConnect: async (client) => void (await client.query(sessionSettings)),
    application_name: "pipeline-runs",
  });
  // Also while it is in use: an error between a transaction's statements has no other listener, and would end the process.
  pool.on("connect", (client) => void client.on("error", onError));
  pool.on("error", () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: preparedStatements(pool) }) });
  try {
    await checkSessions(url);
    const { rows } = await sql<{ version: number }>`
      select current_setting('server_version_num')::int / 10000 as version`.execute(db);
    const version = rows[0]?.version ?? 0;
    if (version < oldestVersion) {
      throw new PipelineError(
        "internal",
        `The database is PostgreSQL ${version}; ${oldestVersion} or later is needed.`,
        { next: "Upgrade it, or name another with --database." },
      );
    }
    await migratePostgres(db);
    isOpen = true;
    return { db, pool };
  } catch (cause) {
    await db.destroy();
    return unusable(cause);
  }
}

/**
 * Checks that a connection keeps its session in the database. A pooler that isn't in session mode loses notifications, and hands
 * settings and prepared statements on to others, so this comes before anything is set.
 * @throws PipelineError `internal` when a notification doesn't arrive.
 */
async function checkSessions(url: string): Promise<void> {
  const setting = {
    connectionString: connectionString(url),
    connectionTimeoutMillis: connectionMilliseconds,
    query_timeout: silentMilliseconds,
  };
  const [listener, notifier] = [new pg.Client(setting), new pg.Client(setting)];
  for (const client of [listener, notifier]) client.on("error", () => {});
  try {
    await listener.connect();
    await notifier.connect();
    const channel = `"${randomUUID()}"`;
    const limit = new AbortController();
    const notify = async () => {
      await listener.query(`listen ${channel}`);
      await notifier.query(`notify ${channel}`);
      // Only now: a slow database is no pooler.
      AbortSignal.timeout(connectionMilliseconds).addEventListener("abort", () => limit.abort());
    };
    await Promise.all([once(listener, "notification", { signal: limit.signal }), notify()]);
  } catch (cause) {
    if (!(cause instanceof Error && cause.name === "AbortError")) throw cause;
    throw new PipelineError("internal", "LISTEN has no effect through what is in front of the database.", {
      cause,
      next: "Connect to PostgreSQL itself, or let the pooler work in session mode (pgbouncer: pool_mode = session).",
    });
  } finally {
    for (const client of [listener, notifier]) void client.end().catch(() => {});
  }
}

/** @throws PipelineError `internal` with what the database says. */
export function unusable(cause: unknown): never {
  if (cause instanceof PipelineError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  const isLocked = codeOf(cause) === lockNotAvailable;
  throw new PipelineError("internal", `The database can't be used: ${why}.`, {
    cause,
    next: isLocked ? lockAdvice : (advice.find(([what]) => what.test(why))?.[1] ?? defaultAdvice),
  });
}

/** The SQLSTATE of a lock that isn't had in time. The message is in the database's language. */
const lockNotAvailable = "55P03";
const lockAdvice = "Something else uses its tables, such as a backup. Start again once that is over.";
const defaultAdvice = "Check the URL of --database, and that its user may create tables.";
/** By the words of `pg` and Node.js. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /^Invalid URL/,
    "Name one host, and percent-encode what is special in the password, such as `/` and `#`, or put it into PGPASSWORD.",
  ],
  [/password must be a/, "It asks for a password: put it into PGPASSWORD, or into the URL of --database."],
  [/does not support SSL/, "It has no TLS: write `sslmode=disable` into the URL of --database."],
  [
    /certificate/,
    "Name its authority's certificate in the URL of --database, `sslmode=verify-full&sslrootcert=<file>`, or trust any with `sslmode=require`.",
  ],
];

/** A connection's socket, which is destroyed when it is silent for too long, if that `matters`. */
export function socketThatEnds(matters: () => boolean): Socket {
  const socket = new Socket();
  socket.setTimeout(silentMilliseconds);
  return socket.on("timeout", () => matters() && socket.destroy());
}

/**
 * A pool as Kysely uses it. Once the database refuses a write, as a primary does that has become a standby, all connections
 * opened before are closed: new ones may lead to the database that took its place.
 *
 * Its connections prepare each statement once: PostgreSQL takes longer to plan most of ours than to run them. Statements name
 * their columns, since PostgreSQL refuses a prepared `*` once a newer server has added a column.
 */
function preparedStatements(pool: pg.Pool): PostgresPool {
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
