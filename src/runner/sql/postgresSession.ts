import { once } from "node:events";
import { createConnection, isIP, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import pg from "pg";
import type { PostgresAddress } from "../../pipeline/types/databaseUrl.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { isSocket, withoutTls } from "./databaseServer.ts";
import {
  describeConnectionProblem,
  describeStatementError,
  isWithoutTls,
  type PostgresServer,
  postgresServer,
} from "./postgresServer.ts";
import { jsonToPostgres, postgresToJson } from "./postgresValue.ts";
import type { Session } from "./serverConnection.ts";
import { type ReadRows, RowReader, type Statement } from "./sqlConnection.ts";

/** How often a server checks, during a statement, that its client is still connected. */
const clientCheckMilliseconds = 2000;

/** A session on a PostgreSQL server. */
export class PostgresSession implements Session {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #server: PostgresServer;
  #note: (line: string) => void = () => {};
  #isLost = false;

  constructor(client: pg.Client, socket: Socket, server: PostgresServer) {
    this.#client = client;
    this.#socket = socket;
    this.#server = server;
    client.on("end", () => {
      this.#isLost = true;
    });
    // The server closes the connection behind such a message, but only some time later.
    client.connection.on("errorMessage", ({ code }: pg.DatabaseError) => {
      if (code?.startsWith("57P")) this.#isLost = true;
    });
    client.on("notice", ({ message, severity }) => this.#note(`${severity}: ${message}`));
  }

  /** @throws StepFault */
  static async open(
    address: PostgresAddress,
    { root }: Pick<StepContext, "root">,
    signal: AbortSignal,
  ): Promise<PostgresSession> {
    const server = await postgresServer(address, root);
    try {
      return await PostgresSession.#open(server, signal);
    } catch (error) {
      const isPlain = server.isTlsOptional && isWithoutTls(error);
      if (isPlain) return await PostgresSession.open(withoutTls(address), { root }, signal);
      throw error instanceof StepFault ? error : new StepFault(describeConnectionProblem(server, error));
    }
  }

  static async #open(server: PostgresServer, signal: AbortSignal): Promise<PostgresSession> {
    const socket = new Socket();
    const client = new pg.Client({
      host: server.hostname,
      port: server.port,
      user: server.user,
      // A function keeps the library from reading a password from elsewhere.
      password: () => server.password,
      database: server.database,
      ssl: server.tls,
      application_name: server.applicationName,
      options: server.options,
      enableChannelBinding: server.hasChannelBinding,
      stream: () => socket,
    });
    // Ignored: the next statement reports a lost connection.
    client.on("error", () => {});
    const give = () => socket.destroy();
    signal.addEventListener("abort", give, { once: true });
    try {
      signal.throwIfAborted();
      await client.connect();
      await prepareSession(client, server);
      // Lets newer servers cancel the statement by themselves if this process is killed.
      await client.query(`set client_connection_check_interval = ${clientCheckMilliseconds}`).catch(() => {});
      signal.throwIfAborted();
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", give);
    }
    return new PostgresSession(client, socket, server);
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async begin(): Promise<void> {
    await this.#client.query("begin");
  }

  async commit(): Promise<void> {
    await this.#client.query("commit");
  }

  async undo(): Promise<boolean> {
    // Ignored: if the connection is lost, the server rolls back.
    await this.#client.query("rollback").catch(() => {});
    return true;
  }

  async statement(statement: Statement, note: (line: string) => void): Promise<ReadRows> {
    this.#note = note;
    const { params, text } = statement;
    const arrays = await arraysOf(this.#client, statement);
    const values = params.map((value, index) => jsonToPostgres(value, arrays.has(index)));
    // The extended protocol accepts one statement only, with or without parameters.
    const config = { text, values, queryMode: "extended" };
    const { connection } = this.#client;
    // The library refuses to give `copy … from stdin` data. It has sent its `Sync` by then, which the server has left out.
    const sync = () => connection.sync();
    connection.on("copyInResponse", sync);
    return readRows(this.#client, config).finally(() => connection.off("copyInResponse", sync));
  }

  async script(
    text: string,
    note: (line: string) => void,
    tellDone: (count: number) => void,
  ): Promise<ReadRows> {
    this.#note = note;
    const { connection } = this.#client;
    let done = 0;
    const count = () => {
      done += 1;
      tellDone(done);
    };
    connection.on("commandComplete", count);
    try {
      return await readRows(this.#client, { text });
    } finally {
      connection.off("commandComplete", count);
    }
  }

  /** Nothing but `commit` does that in PostgreSQL. */
  hasCommitted(): boolean {
    return false;
  }

  async cancel(signal: AbortSignal): Promise<void> {
    const key = keyOf(this.#client);
    if (key === undefined) throw new StepFault("it gave no key for that");
    await requestCancel(this.#server, key, signal);
  }

  end(): Promise<void> {
    return this.#client.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  describe(error: unknown, text: string, done?: number): string {
    return describeStatementError(this.#server, error, text, done);
  }

  describeUnreachable(error: unknown): string {
    return error instanceof StepFault ? error.message : describeConnectionProblem(this.#server, error);
  }
}

/** Sees to what the address says of the session. @throws StepFault; what the server says. */
async function prepareSession(client: pg.Client, { host, schema, writes }: PostgresServer): Promise<void> {
  if (schema !== undefined) await client.query("select set_config('search_path', $1, false)", [schema]);
  if (writes === undefined) return;
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if ((rows[0]?.transaction_read_only === "off") === writes) return;
  const is = writes ? "takes no writes" : "takes writes";
  throw new StepFault(`${host} ${is}, against the \`target_session_attrs\` of the address`);
}

/** The library has the key, but its types don't. */
function keyOf(client: object): BackendKey | undefined {
  const processId = "processID" in client ? client.processID : undefined;
  const secret = "secretKey" in client ? client.secretKey : undefined;
  return typeof processId === "number" && typeof secret === "number" ? { processId, secret } : undefined;
}

/** The statement is asked about under this name. The server counts positions in it from here. */
const asked = "pipeline_runs_asked";
const before = `prepare ${asked} as `;

/**
 * The parameters that the statement wants as arrays, by their index: a list is one of these, and JSON elsewhere.
 * @throws what the server says of the statement.
 */
async function arraysOf(client: pg.Client, { params, text }: Statement): Promise<ReadonlySet<number>> {
  if (!params.some((value) => Array.isArray(value))) return new Set();
  try {
    // The extended protocol accepts one statement only.
    const config = { text: before + text, queryMode: "extended" };
    await client.query(config);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.position !== undefined) {
      error.position = String(Number(error.position) - before.length);
    }
    throw error;
  }
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = $1",
    [asked],
  );
  await client.query(`deallocate ${asked}`);
  const types = rows[0]?.types ?? [];
  return new Set(types.flatMap((type, index) => (type.endsWith("[]") ? [index] : [])));
}

/**
 * Runs a statement or several, row by row as the server sends them. @returns what the last one returned.
 *
 * @throws what the server says of it.
 */
function readRows(client: pg.Client, config: pg.QueryConfig): Promise<ReadRows> {
  let reader = new RowReader();
  const { promise, resolve, reject } = Promise.withResolvers<ReadRows>();
  const raw = { types: { getTypeParser: () => (value: string) => value }, rowMode: "array" };
  const query = new pg.Query<unknown[]>({ ...config, ...raw });
  let types: readonly number[] = [];
  let of: unknown;
  query.on("row", (row, result) => {
    if (of !== result) {
      of = result;
      const fields = result?.fields ?? [];
      types = fields.map(({ dataTypeID }) => dataTypeID);
      reader = new RowReader();
      reader.begin(fields.map(({ name }) => name));
    }
    reader.add(row, (value, column) => postgresToJson(value, types[column] ?? 0));
  });
  query.on("error", reject);
  query.on("end", (results) => {
    const last = [results].flat().at(-1);
    resolve((last === of ? reader : new RowReader()).end(last?.rowCount ?? 0));
  });
  client.query(query);
  return promise;
}

/** The key of a connection, with which a statement on it can be cancelled. */
interface BackendKey {
  readonly processId: number;
  readonly secret: number;
}

const cancelCode = 80_877_102;
const tlsCode = 80_877_103;

/**
 * Sends a cancel request over a new connection. Resolves when the server has received it, whether or not it cancels
 * (postgresql.org/docs/current/protocol-flow.html, "Canceling Requests in Progress").
 *
 * @throws when the server can't be reached, or the signal's reason.
 */
async function requestCancel(server: PostgresServer, key: BackendKey, signal: AbortSignal): Promise<void> {
  const plain = isSocket(server.hostname)
    ? createConnection({ path: `${server.hostname}/.s.PGSQL.${server.port}` })
    : createConnection({ host: server.hostname, port: server.port });
  const destroy = () => plain.destroy(asError(signal.reason));
  signal.addEventListener("abort", destroy, { once: true });
  try {
    signal.throwIfAborted();
    await once(plain, "connect");
    const socket = server.tls === false ? plain : await secured(plain, server);
    const ended = once(socket, "close");
    socket.resume().end(words(cancelCode, key.processId, key.secret));
    await ended;
  } finally {
    signal.removeEventListener("abort", destroy);
    plain.on("error", () => {}).destroy();
  }
}

async function secured(plain: Socket, { hostname, tls }: PostgresServer): Promise<Socket> {
  plain.write(words(tlsCode));
  const [answer] = await once(plain, "data");
  if (String(answer) !== "S") throw new Error("the server doesn't do TLS");
  const name = isIP(hostname) === 0 ? { servername: hostname } : {};
  const socket = connectTls({ ...(tls || {}), ...name, host: hostname, socket: plain });
  await once(socket, "secureConnect");
  return socket;
}

/** A message of 32-bit integers, preceded by its length. */
function words(...numbers: readonly number[]): Buffer {
  const message = Buffer.alloc(4 * (numbers.length + 1));
  message.writeInt32BE(message.length);
  for (const [index, number] of numbers.entries()) message.writeInt32BE(number, 4 * (index + 1));
  return message;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
