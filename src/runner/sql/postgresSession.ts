import { once } from "node:events";
import { Socket } from "node:net";
import pg from "pg";
import type { PostgresAddress } from "../../pipeline/types/databaseUrl.ts";
import { lookingUp } from "../step/network.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { type DatabaseServer, databaseServer, isSocket, openOn, whileWanted } from "./databaseServer.ts";
import {
  describeConnectionProblem,
  describeEnd,
  describeStatementError,
  jsonToPostgres,
  postgresToJson,
} from "./postgresReplies.ts";
import { type ReadRows, RowReader } from "./rows.ts";
import type { ServerSession } from "./sqlConnection.ts";
import type { Statement } from "./sqlWork.ts";

/** What the library has, but its types don't. */
declare module "pg" {
  interface Connection {
    connect(port: number, host: string): void;
    connect(path: string): void;
    requestSsl(): void;
    cancel(processId: number, key: number): void;
    parse(statement: { text: string }): void;
    describe(what: { type: "S" }): void;
  }
  interface Client {
    readonly processID: number;
    /** Null where the server has given none. */
    readonly secretKey: number | null;
  }
}

/** How often a server checks, during a statement, that its client is still connected. */
const clientCheckMilliseconds = 2000;

export class PostgresSession implements ServerSession {
  readonly begins = ["begin"];
  readonly #client: pg.Client;
  readonly #socket: Socket;
  readonly #server: DatabaseServer;
  #note: (line: string) => void = () => {};
  #loss: string | undefined;

  constructor(client: pg.Client, socket: Socket, server: DatabaseServer) {
    this.#client = client;
    this.#socket = socket;
    this.#server = server;
    client.on("end", () => {
      this.#loss ??= `${server.host} closed the connection`;
    });
    // After such a message the server closes the connection, but only some time later.
    client.connection.on("errorMessage", (error: pg.DatabaseError) => {
      this.#loss ??= describeEnd(server, error);
    });
    client.on("notice", ({ message, severity }) => this.#note(`${severity}: ${message}`));
  }

  /** @throws StepFault */
  static async open(
    address: PostgresAddress,
    { root }: Pick<StepContext, "root">,
    signal: AbortSignal,
  ): Promise<PostgresSession> {
    const { database, ...server } = await databaseServer(address, root);
    const open = (on: DatabaseServer) => PostgresSession.#open(on, address.parameters, signal);
    return openOn({ ...server, database: database || server.user }, open, describeConnectionProblem);
  }

  static async #open(
    server: DatabaseServer,
    parameters: PostgresAddress["parameters"],
    signal: AbortSignal,
  ): Promise<PostgresSession> {
    const socket = new ServerSocket();
    const client = new pg.Client({
      host: server.hostname,
      port: server.port,
      user: server.user,
      // A function keeps the library from reading a password from elsewhere.
      password: () => server.password,
      database: server.database,
      ssl: server.tls,
      application_name: parameters.application_name ?? "pipeline-runs",
      options: parameters.options,
      enableChannelBinding: ["prefer", "require"].includes(parameters.channel_binding ?? ""),
      stream: () => socket,
    });
    // Ignored: the next statement reports a lost connection.
    client.on("error", () => {});
    try {
      await whileWanted(socket, signal, async () => {
        await client.connect();
        await prepareSession(client, server, parameters);
        // Lets newer servers cancel the statement by themselves if this process is killed.
        const check = `set client_connection_check_interval = ${clientCheckMilliseconds}`;
        await client.query(check).catch(() => {});
      });
      return new PostgresSession(client, socket, server);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  get loss(): string | undefined {
    return this.#loss;
  }

  control(text: string): Promise<unknown> {
    return this.#client.query(text);
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
    // The library refuses to give `copy … from stdin` data. The server has ignored its `Sync` by then, so it is sent again.
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

  /** @see https://www.postgresql.org/docs/current/protocol-flow.html, "Canceling Requests in Progress". */
  async cancel(signal: AbortSignal): Promise<void> {
    const { processID, secretKey } = this.#client;
    if (secretKey === null) throw new StepFault("it gave no key for that");
    const { hostname, port, tls } = this.#server;
    const socket = new ServerSocket();
    const connection = new pg.Connection({ stream: () => socket, ssl: tls });
    const ask = () => connection.cancel(processID, secretKey);
    connection.on("connect", tls ? () => connection.requestSsl() : ask).on("sslconnect", ask);
    // The server has received the request, whether or not it cancels, when it closes the connection.
    const received = once(connection, "end", { signal });
    if (isSocket(hostname)) connection.connect(`${hostname}/.s.PGSQL.${port}`);
    else connection.connect(port, hostname);
    try {
      await received;
    } finally {
      connection.on("error", () => {});
      socket.destroy();
    }
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

/** A socket that finds a server's host as an http step does: the library connects it to a port and a host, or to a path. */
class ServerSocket extends Socket {
  override connect(to: unknown, host?: unknown): this {
    if (typeof to === "string") return super.connect(to);
    const hostname = String(host);
    return super.connect({ port: Number(to), host: hostname, ...lookingUp(hostname) });
  }
}

/** Whether a session has to be able to write, or has to be read-only, by `target_session_attrs`. */
const writing: Readonly<Record<string, boolean>> = {
  "read-write": true,
  primary: true,
  "read-only": false,
  standby: false,
};

/** Sets up the session as the address says. @throws StepFault; what the server says. */
async function prepareSession(
  client: pg.Client,
  { host }: DatabaseServer,
  { schema, target_session_attrs: wanted = "" }: PostgresAddress["parameters"],
): Promise<void> {
  if (schema !== undefined) await client.query("select set_config('search_path', $1, false)", [schema]);
  const writes = writing[wanted];
  if (writes === undefined) return;
  const { rows } = await client.query<{ transaction_read_only: string }>("show transaction_read_only");
  if ((rows[0]?.transaction_read_only === "off") === writes) return;
  const is = writes ? "takes no writes" : "takes writes";
  throw new StepFault(`${host} ${is}, against the \`target_session_attrs\` of the address`);
}

/**
 * The indexes of the parameters that the statement takes as arrays; a list for any other parameter is sent as JSON. The statement
 * is described without a name, so that it leaves nothing in the server's session, which a pooler may give to others.
 * @throws the server's error about the statement.
 */
async function arraysOf(client: pg.Client, { params, text }: Statement): Promise<ReadonlySet<number>> {
  if (!params.some((value) => Array.isArray(value))) return new Set();
  const { connection } = client;
  let types: readonly number[] = [];
  const take = ({ dataTypeIDs }: { readonly dataTypeIDs: readonly number[] }) => {
    types = dataTypeIDs;
  };
  const question = new pg.Query({ text });
  question.submit = () => {
    connection.parse({ text });
    connection.describe({ type: "S" });
    connection.sync();
  };
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  connection.on("parameterDescription", take);
  client.query(question.on("error", reject).on("end", resolve));
  await promise.finally(() => connection.off("parameterDescription", take));
  const { rows } = await client.query<{ oid: number }>(
    "select oid from pg_catalog.pg_type where oid = any($1) and typcategory = 'A'",
    [types],
  );
  return new Set(types.flatMap((type, index) => (rows.some(({ oid }) => oid === type) ? [index] : [])));
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
