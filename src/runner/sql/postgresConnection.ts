import { once } from "node:events";
import { createConnection, isIP, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import pg from "pg";
import type { PostgresAddress } from "../../pipeline/types/databaseUrl.ts";
import type { StepContext } from "../step/stepContext.ts";
import {
  describeConnectionProblem,
  describeStatementError,
  isWithoutTls,
  type PostgresServer,
  postgresServer,
} from "./postgresServer.ts";
import { jsonToPostgres, postgresToJson } from "./postgresValue.ts";
import {
  describeStatementProblem,
  NoConnection,
  type ReadRows,
  RowReader,
  type SqlConnection,
  type SqlOutcome,
  type SqlWork,
  type Stopped,
} from "./sqlConnection.ts";

/** How long a server may take to accept a cancel request, and then to cancel the statement. */
const cancelMilliseconds = 2000;
/** How often a server checks, during a statement, that its client is still connected. */
const clientCheckMilliseconds = 2000;
/** How long ending the session may take before the connection is closed. */
const closingMilliseconds = 2000;

/** A session on a PostgreSQL server. */
export class PostgresConnection implements SqlConnection {
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #server: PostgresServer;
  #running: Promise<unknown> | undefined;
  #note: ((line: string) => void) | undefined;
  #stopping: Promise<Stopped> | undefined;
  #isLost = false;

  constructor(client: pg.Client, socket: Socket, server: PostgresServer) {
    this.#client = client;
    this.#socket = socket;
    this.#server = server;
    client.on("end", () => {
      this.#isLost = true;
    });
    client.on("notice", ({ message, severity }) => this.#note?.(`${severity}: ${message}`));
  }

  /** @throws NoConnection */
  static async open(
    address: PostgresAddress,
    { root }: Pick<StepContext, "root">,
    signal: AbortSignal,
  ): Promise<PostgresConnection> {
    const server = await postgresServer(address, root);
    try {
      return await PostgresConnection.#open(server, signal);
    } catch (error) {
      const isPlain = server.isTlsOptional && isWithoutTls(error);
      if (isPlain) return await PostgresConnection.open(withoutTls(address), { root }, signal);
      throw error instanceof NoConnection
        ? error
        : new NoConnection(describeConnectionProblem(server, error));
    }
  }

  static async #open(server: PostgresServer, signal: AbortSignal): Promise<PostgresConnection> {
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
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener("abort", give);
    }
    // Lets newer servers cancel the statement by themselves if this process is killed.
    await client.query(`set client_connection_check_interval = ${clientCheckMilliseconds}`).catch(() => {});
    return new PostgresConnection(client, socket, server);
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async run(work: SqlWork, note: (line: string) => void): Promise<SqlOutcome> {
    this.#note = note;
    const running = this.#run(work);
    this.#running = running;
    const outcome = await running;
    this.#running = undefined;
    this.#note = undefined;
    return outcome;
  }

  stop(): Promise<Stopped> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(work: SqlWork): Promise<SqlOutcome> {
    const client = this.#client;
    const { isTransaction, statements } = work;
    let text = "begin";
    let index = 0;
    let rows: ReadRows = new RowReader().end(0);
    let isOpen = false;
    try {
      if (isTransaction) await client.query(text);
      isOpen = isTransaction;
      for (const statement of statements) {
        text = statement.text;
        rows = await runStatement(client, statement, await arraysOf(client, statement));
        index += 1;
      }
      text = "commit";
      if (isTransaction) await client.query(text);
      return { kind: "done", rows };
    } catch (error) {
      const problem = describeStatementError(this.#server, error, text);
      // Ignored: if the connection is lost, the server rolls back.
      if (isOpen) await client.query("rollback").catch(() => {});
      return {
        kind: "failed",
        problem: isOpen || !isTransaction ? describeStatementProblem(work, index, problem) : problem,
      };
    }
  }

  async #stop(): Promise<Stopped> {
    const stopped: Stopped =
      this.#running === undefined ? { kind: "stopped" } : await this.#cancel(this.#running);
    await within(
      closingMilliseconds,
      this.#client.end().catch(() => {}),
    );
    this.#socket.destroy();
    return stopped;
  }

  async #cancel(running: Promise<unknown>): Promise<Stopped> {
    const key = keyOf(this.#client);
    if (key === undefined) return { kind: "unknown", problem: "it gave no key for that" };
    const enough = AbortSignal.timeout(cancelMilliseconds);
    try {
      await requestCancel(this.#server, key, enough);
    } catch (error) {
      return {
        kind: "unknown",
        problem: enough.aborted ? "it doesn't answer" : describeConnectionProblem(this.#server, error),
      };
    }
    const isOver = await within(
      cancelMilliseconds,
      running.then(() => true),
    );
    return isOver === true
      ? { kind: "stopped" }
      : { kind: "unknown", problem: "it took the request, but hasn't cancelled the statement yet" };
  }
}

function withoutTls(address: PostgresAddress): PostgresAddress {
  return { ...address, parameters: { ...address.parameters, sslmode: "disable" } };
}

/** Sees to what the address says of the session. @throws NoConnection; what the server says. */
async function prepareSession(client: pg.Client, { host, schema, writes }: PostgresServer): Promise<void> {
  if (schema !== undefined) await client.query("select set_config('search_path', $1, false)", [schema]);
  if (writes === undefined) return;
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if ((rows[0]?.transaction_read_only === "off") === writes) return;
  const is = writes ? "takes no writes" : "takes writes";
  throw new NoConnection(`${host} ${is}, against the \`target_session_attrs\` of the address`);
}

/** The library has the key, but its types don't. */
function keyOf(client: object): BackendKey | undefined {
  const processId = "processID" in client ? client.processID : undefined;
  const secret = "secretKey" in client ? client.secretKey : undefined;
  return typeof processId === "number" && typeof secret === "number" ? { processId, secret } : undefined;
}

/** @returns undefined when it takes longer. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  const enough = new AbortController();
  const patience = pause(milliseconds, undefined, { signal: enough.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, patience]);
  } finally {
    enough.abort();
  }
}

type SqlStatement = SqlWork["statements"][number];

/** The statement is asked about under this name. The server counts positions in it from here. */
const asked = "pipeline_runs_asked";
const before = `prepare ${asked} as `;

/**
 * The parameters that the statement wants as arrays, by their index: a list is one of these, and JSON elsewhere.
 * @throws what the server says of the statement.
 */
async function arraysOf(client: pg.Client, { params, text }: SqlStatement): Promise<ReadonlySet<number>> {
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
 * Runs one statement, row by row as the server sends them.
 *
 * @throws what the server says of it.
 */
function runStatement(
  client: pg.Client,
  { params, text }: SqlStatement,
  arrays: ReadonlySet<number>,
): Promise<ReadRows> {
  const reader = new RowReader();
  const { promise, resolve, reject } = Promise.withResolvers<ReadRows>();
  const config = {
    text,
    values: params.map((value, index) => jsonToPostgres(value, arrays.has(index))),
    types: { getTypeParser: () => (value: string) => value },
    rowMode: "array",
    // The extended protocol accepts one statement only, with or without parameters.
    queryMode: "extended",
  };
  const query = new pg.Query<unknown[]>(config);
  let types: readonly number[] | undefined;
  query.on("row", (row, result) => {
    if (types === undefined) {
      const fields = result?.fields ?? [];
      types = fields.map(({ dataTypeID }) => dataTypeID);
      reader.begin(fields.map(({ name }) => name));
    }
    reader.add(row, (value, column) => postgresToJson(value, types?.[column] ?? 0));
  });
  query.on("error", reject);
  query.on("end", ({ rowCount }) => resolve(reader.end(rowCount ?? 0)));
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
  const plain = server.hostname.startsWith("/")
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
