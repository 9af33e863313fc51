import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import * as z from "zod/mini";
import { type BusEvent, EventBus } from "../../eventBus.ts";
import type { Log } from "../../log.ts";
import type { Database } from "../tables.ts";
import { channel, notify, payloadOf } from "./notify.ts";
import { socketThatEnds } from "./openPostgres.ts";

const ringSchema = z.discriminatedUnion("kind", [
  z.object({ org: z.string(), kind: z.literal("org") }),
  z.object({
    org: z.string(),
    kind: z.enum(["run", "unwritten-run", "log", "work", "stop"]),
    runId: z.string(),
  }),
]);

/** The pause before the connection is made again, in milliseconds. */
const reconnectPause = 250;
/** How often the connection is tried, in milliseconds: a half-open one says nothing by itself. */
const checkMilliseconds = 5_000;

/**
 * The events of all servers of a database, by LISTEN and NOTIFY on a connection of its own. An event only rings: whoever
 * hears it reads the rows. What may have been missed while there was no connection is made up for by an event to all.
 */
export class PostgresBus extends EventBus {
  readonly #db: Database;
  readonly #url: string;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  readonly #toAll = new Set<(orgId: string, event: BusEvent) => void>();
  #listening: Promise<void> = Promise.resolve();
  /** What is to be sent next, each once: a ring more says no more. */
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;

  private constructor(url: string, db: Database, log: Log) {
    super();
    this.#url = url;
    this.#db = db;
    this.#log = log;
  }

  /** @throws the error of the first connection. */
  static async listen(url: string, db: Database, log: Log): Promise<PostgresBus> {
    const bus = new PostgresBus(url, db, log);
    bus.#listening = bus.#keepListening(await bus.#connect());
    return bus;
  }

  override emit(orgId: string, event: BusEvent): void {
    this.#pending.add(payloadOf(orgId, event));
    this.#sending ??= this.#send();
  }

  /** Calls back for the events of every org. @returns a function that unsubscribes. */
  subscribeToAll(listener: (orgId: string, event: BusEvent) => void): () => void {
    this.#toAll.add(listener);
    return () => this.#toAll.delete(listener);
  }

  /** Sends what is on its way, and ends the connection. */
  async close(): Promise<void> {
    await this.#sending;
    this.#stopping.abort();
    await this.#listening;
  }

  /** Nothing is sent twice: whoever has missed a ring reads the rows once the database is back. */
  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = [...this.#pending];
      this.#pending.clear();
      try {
        await notify(this.#db, payloads);
      } catch (error) {
        this.#log("error", "the other servers could not be rung", { error });
      }
    }
    // Synchronously with the last check: an event of the next microtask has to start again.
    this.#sending = undefined;
  }

  async #connect(): Promise<Connection> {
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      // It is tried all the time, so this is for its end.
      stream: () => socketThatEnds(() => true),
      connectionTimeoutMillis: checkMilliseconds,
      application_name: "pipeline-runs events",
    });
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    client.on("error", () => resolve());
    client.on("end", () => resolve());
    client.on("notification", ({ payload }) => this.#hear(payload));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    const checking = setInterval(() => {
      const timeout = setTimeout(resolve, checkMilliseconds);
      client.query("select 1").then(
        () => clearTimeout(timeout),
        () => resolve(),
      );
    }, checkMilliseconds);
    const end = () => {
      clearInterval(checking);
      void client.end().catch(() => {});
      resolve();
    };
    return { lost, end };
  }

  async #keepListening(first: Connection): Promise<void> {
    const { signal } = this.#stopping;
    let connection: Connection | undefined = first;
    signal.addEventListener("abort", () => connection?.end(), { once: true });
    while (!signal.aborted) {
      await connection?.lost;
      connection?.end();
      if (signal.aborted) return;
      if (connection !== undefined) this.#log("warn", "other servers are not heard, connecting again");
      await pause(reconnectPause, undefined, { signal }).catch(() => {});
      connection = await this.#connect().catch(() => undefined);
      if (connection !== undefined) this.#ringAll();
    }
    connection?.end();
  }

  #hear(payload = ""): void {
    const parsed = ringSchema.safeParse(JSON.parse(payload));
    if (!parsed.success) return;
    const { org, ...event } = parsed.data;
    this.#ring(org, event);
  }

  #ring(orgId: string, event: BusEvent): void {
    this.emitHere(orgId, event);
    for (const listener of this.#toAll) listener(orgId, event);
  }

  /** Whoever listens reads the rows again, from where they were. */
  #ringAll(): void {
    this.emitToAll({ kind: "org" });
    for (const listener of this.#toAll) listener("", { kind: "org" });
  }
}

interface Connection {
  readonly lost: Promise<void>;
  end(): void;
}
