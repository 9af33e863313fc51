import { createConnection, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import mysql, {
  type Connection,
  type FieldPacket,
  type PrepareStatementInfo,
  type Query,
  type SslOptions,
} from "mysql2";
import * as z from "zod/mini";
import type { MysqlAddress } from "../../pipeline/types/databaseUrl.ts";
import { counted } from "../../text/counted.ts";
import { lookingUp } from "../step/network.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { type DatabaseServer, databaseServer, isSocket, openOn, whileWanted } from "./databaseServer.ts";
import {
  describeConnectionProblem,
  describeEnd,
  describeStatementError,
  isNotPreparable,
  isUndone,
  jsonToMysql,
  mysqlToJson,
} from "./mysqlReplies.ts";
import { type ReadRows, RowReader } from "./rows.ts";
import type { ServerSession } from "./sqlConnection.ts";
import { describeWrongParams, type Statement } from "./sqlWork.ts";

/** A session on a MySQL or MariaDB server. */
export class MysqlSession implements ServerSession {
  /** The savepoint shows whether a statement has committed by itself, which removes it, even if the statement fails. */
  readonly begins = ["begin", `savepoint ${savepoint}`];
  readonly #client: Connection;
  readonly #socket: Socket;
  readonly #server: DatabaseServer;
  readonly #machine: string;
  #status = 0;
  #end: unknown;

  private constructor({ client, socket }: Connected, server: DatabaseServer, machine: string) {
    this.#client = client;
    this.#socket = socket;
    this.#server = server;
    this.#machine = machine;
    client.on("error", (error: unknown) => {
      this.#end ??= error;
    });
  }

  /** @throws StepFault */
  static async open(
    address: MysqlAddress,
    { root }: Pick<StepContext, "root">,
    signal: AbortSignal,
  ): Promise<MysqlSession> {
    const open = async (server: DatabaseServer) => {
      const connected = await connect(server, signal);
      const machine = await whileWanted(connected.socket, signal, () => machineOf(connected.client));
      return new MysqlSession(connected, server, machine);
    };
    return openOn(await databaseServer(address, root), open, describeConnectionProblem);
  }

  get loss(): string | undefined {
    return this.#socket.writable ? undefined : describeEnd(this.#server, this.#end);
  }

  control(text: string): Promise<unknown> {
    return this.#query(text);
  }

  async undo(error: unknown): Promise<boolean> {
    const hasSavepoint = await this.#query(`rollback to savepoint ${savepoint}`).then(
      () => true,
      () => false,
    );
    // Ignored: if the connection is lost, the server rolls back.
    await this.#query("rollback").catch(() => {});
    return hasSavepoint || this.loss !== undefined || isUndone(error);
  }

  async statement({ params, text }: Statement, note: (line: string) => void): Promise<ReadRows> {
    const client = this.#client;
    const prepared = await prepare(client, text).catch((error: unknown) => {
      if (isNotPreparable(error) && params.length === 0) return undefined;
      throw error;
    });
    if (prepared === undefined) return this.#noted(await this.#query(text), note);
    try {
      const wanted = parametersOf(prepared);
      if (wanted !== params.length)
        throw new Error(describeWrongParams(counted(wanted, "value"), params.length));
      const values = params.map(jsonToMysql);
      return await this.#noted(await this.#read(() => prepared.execute(values)), note);
    } finally {
      client.unprepare(text);
    }
  }

  async script(
    text: string,
    note: (line: string) => void,
    tellDone: (count: number) => void,
  ): Promise<ReadRows> {
    return this.#noted({ ...(await this.#query(text, tellDone)), table: undefined }, note);
  }

  hasCommitted(): boolean {
    return (this.#status & inTransaction) === 0;
  }

  /** Ends the whole session: after a statement that is cancelled alone, the next ones of a file would run. */
  async cancel(signal: AbortSignal): Promise<void> {
    const { client, socket } = await connect(this.#server, signal);
    try {
      await whileWanted(socket, signal, async () => {
        // Several servers may be behind one address, and each numbers its sessions by itself.
        if ((await machineOf(client)) !== this.#machine) throw new StepFault("another server answers there");
        await readResults(client, () => client.query(`kill ${this.#client.threadId}`));
      });
    } finally {
      socket.destroy();
    }
  }

  async end(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#client.end(() => resolve());
    await promise;
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

  #query(text: string, tellDone?: (count: number) => void): Promise<Results> {
    return this.#read(() => this.#client.query(text), tellDone);
  }

  async #read(start: () => Query, tellDone?: (count: number) => void): Promise<Results> {
    const results = await readResults(this.#client, start, tellDone);
    if (results.header !== undefined) this.#status = results.header.serverStatus;
    return results;
  }

  /** Notes the server's warnings. @returns the last rows: a procedure's end, which comes after its rows, has none. */
  async #noted({ header, last, table }: Results, note: (line: string) => void): Promise<ReadRows> {
    // Only a result without rows says how many warnings there are.
    if (header?.warningStatus !== 0) {
      const warnings = await this.#query("show warnings");
      for (const row of warnings.last.rows) {
        const { Level, Message } = warningSchema.parse(JSON.parse(row));
        note(`${Level.toUpperCase()}: ${Message}`);
      }
    }
    return table ?? last;
  }
}

const warningSchema = z.object({ Level: z.string(), Message: z.string() });

const savepoint = "pipeline_runs_begun";

/** The bit of a server's status that says whether a transaction is open. */
const inTransaction = 1;

interface Connected {
  readonly client: Connection;
  readonly socket: Socket;
}

/** @throws what the server or the system says; the signal's reason. */
async function connect(server: DatabaseServer, signal: AbortSignal): Promise<Connected> {
  const { database, hostname, password, port, user } = server;
  signal.throwIfAborted();
  const isLocal = isSocket(hostname);
  const socket = isLocal
    ? createConnection({ path: hostname })
    : createConnection({ host: hostname, port, ...lookingUp(hostname) });
  socket.setNoDelay(true);
  // The library compares a certificate with the name that Node stores here; for an IP address, Node stores none.
  if (!isLocal) Object.assign(socket, { _host: hostname });
  const client = mysql.createConnection({
    host: hostname,
    port,
    ...(isLocal && { socketPath: hostname }),
    user,
    password,
    database,
    ...(server.tls && { ssl: tlsOf(server.tls) }),
    stream: () => socket,
    // Only the step's timeout applies.
    connectTimeout: 0,
    connectAttributes: { program_name: "pipeline-runs" },
    multipleStatements: true,
    // Switched off: a server could ask for files of this machine, and no table could be called `count`.
    flags: ["-LOCAL_FILES", "-IGNORE_SPACE"],
    disableEval: true,
    rowsAsArray: true,
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    typeCast: (field, next) =>
      field.type === "GEOMETRY" || field.type === "VECTOR" ? field.buffer() : next(),
  });
  // Ignored: whatever waits for the server gets the error too, and the next statement reports a lost connection.
  client.on("error", () => {});
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.connect((error) => (error === null ? resolve() : reject(withTlsCode(error, client))));
  try {
    await whileWanted(socket, signal, () => promise);
    return { client, socket };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Which of the servers behind an address this is, as it says itself; empty where it doesn't. */
async function machineOf(client: Connection): Promise<string> {
  try {
    const { last } = await readResults(client, () => client.query("select @@hostname, @@port"));
    return last.rows.join();
  } catch {
    return "";
  }
}

function tlsOf({
  ca,
  cert,
  checkServerIdentity,
  key,
  rejectUnauthorized = true,
}: Exclude<DatabaseServer["tls"], false>): SslOptions {
  const files = Object.entries({ ca, cert, key }).filter(([, text]) => typeof text === "string");
  return {
    ...Object.fromEntries(files),
    rejectUnauthorized,
    verifyIdentity: rejectUnauthorized && checkServerIdentity === undefined,
  };
}

/** Restores the code that says what is wrong with a certificate, which the library replaces by one of its own. */
function withTlsCode(error: Error, client: object): Error {
  const socket = "stream" in client ? client.stream : undefined;
  const reason: unknown = socket instanceof TLSSocket ? socket.authorizationError : undefined;
  return typeof reason === "string" ? Object.assign(error, { code: reason }) : error;
}

function prepare(client: Connection, text: string): Promise<PrepareStatementInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<PrepareStatementInfo>();
  client.prepare(text, (error, statement) => (error === null ? resolve(statement) : reject(error)));
  return promise;
}

/** How many results of a command are complete; only a private field of the library says so. */
function resultsOf(command: object): number {
  return "_resultIndex" in command && typeof command._resultIndex === "number" ? command._resultIndex : 0;
}

/** The library has them, but its types don't. */
function parametersOf(statement: PrepareStatementInfo): number {
  return "parameters" in statement && Array.isArray(statement.parameters) ? statement.parameters.length : 0;
}

interface Results {
  /** The last one, with rows or without. */
  readonly last: ReadRows;
  /** The last one with rows. */
  readonly table: ReadRows | undefined;
  /** The reply to the last statement without rows. */
  readonly header: z.infer<typeof headerSchema> | undefined;
}

const headerSchema = z.object({
  affectedRows: z.int(),
  serverStatus: z.int(),
  warningStatus: z.int(),
});

/**
 * Reads what a command returns, row by row as the server sends them.
 *
 * @param tellDone called before it throws, with how many of its statements are done.
 * @throws what the server says of it.
 */
async function readResults(
  client: Connection,
  start: () => Query,
  tellDone: (count: number) => void = () => {},
): Promise<Results> {
  let results: Results = { last: new RowReader().end(0), table: undefined, header: undefined };
  let columns: readonly FieldPacket[] = [];
  let reader: RowReader | undefined;
  const endTable = () => {
    if (reader === undefined) return;
    const table = reader.end(0);
    results = { ...results, last: table, table };
    reader = undefined;
  };
  const { promise, resolve, reject } = Promise.withResolvers<Results>();
  // Only the client emits the error of a lost connection.
  client.on("error", reject);
  const command = start();
  command.on("error", (error: unknown) => {
    tellDone(resultsOf(command));
    reject(error);
  });
  command.on("fields", (fields: readonly FieldPacket[] | undefined) => {
    endTable();
    if (fields === undefined) return;
    columns = fields;
    reader = new RowReader();
    reader.begin(columns.map(({ name }) => name));
  });
  command.on("result", (result: unknown) => {
    if (reader !== undefined && Array.isArray(result)) {
      reader.add(result, (value, column) => mysqlToJson(value, columns[column]));
      return;
    }
    const header = headerSchema.parse(result);
    results = { ...results, last: new RowReader().end(header.affectedRows), header };
  });
  command.on("end", () => {
    endTable();
    resolve(results);
  });
  try {
    return await promise;
  } finally {
    client.off("error", reject);
  }
}
