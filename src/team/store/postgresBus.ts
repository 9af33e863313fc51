import { setTimeout as pause } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import * as z from "zod/mini";
import { type Clock, repeat, systemClock } from "../../machine/clock.ts";
import type { Log } from "../../machine/log.ts";
import { type BusEvent, EventBus } from "../../service/store/eventBus.ts";
import type { Database } from "../../service/store/tables.ts";
import { connectionString, sessionSettings, socketThatEnds } from "./openPostgres.ts";
import { beatMilliseconds, endServer, sayAlive } from "./servers.ts";

const ringSchema = z.discriminatedUnion("kind", [
  z.object({ org: z.string(), kind: z.literal("org") }),
  z.object({
    org: z.string(),
    kind: z.enum(["run", "log", "work", "stop"]),
    runId: z.string(),
  }),
]);

/** The pause before the connection is made again, in milliseconds. */
const reconnectPause = 250;
/** How long the connection may take to answer, in milliseconds: nothing else reveals a half-open one. */
const answerMilliseconds = 5_000;

export interface BusDeps {
  /** The database's `postgres://` URL. */
  readonly url: string;
  readonly db: Database;
  /** Sets the pace of the server's heartbeats. How long the database may take is measured by the machine's time. */
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Identifies this start of the server. */
  readonly instance: string;
  /** The object store that the server names. */
  readonly objectStore?: string | undefined;
}

/**
 * The events of all servers of a database, by LISTEN and NOTIFY on a connection of its own. An event is only a notification:
 * its receivers read the rows. After a lost connection, an event to all makes up for what was missed. The server's heartbeats
 * use the same connection, so that a busy pool makes no server look dead.
 */
export class PostgresBus extends EventBus {
  readonly #deps: BusDeps;
  readonly #stopping = new AbortController();
  readonly #toAll = new Set<(orgId: string, event: TeamEvent) => void>();
  #listening: Promise<void> = Promise.resolve();
  /** The notifications to send next. A set, since a repeated one says no more than one. */
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;
  #connection: Connection | undefined;
  #isRetired = false;

  /** Whether the server counts as dead from now on. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Whether this server receives the events of the others. */
  get isListening(): boolean {
    return this.#connection !== undefined;
  }

  private constructor(deps: BusDeps) {
    super();
    this.#deps = deps;
  }

  /** @throws the error of the first connection. */
  static async listen(deps: BusDeps): Promise<PostgresBus> {
    const bus = new PostgresBus(deps);
    bus.#listening = bus.#keepListening(await bus.#connect());
    return bus;
  }

  override emit(orgId: string, event: TeamEvent): void {
    this.#pending.add(payloadOf(orgId, event));
    this.#sending ??= this.#send();
  }

  /** Calls back for the events of every org. @returns a function that unsubscribes. */
  subscribeToAll(listener: (orgId: string, event: TeamEvent) => void): () => void {
    this.#toAll.add(listener);
    return () => this.#toAll.delete(listener);
  }

  /** Makes the server count as dead, so that its waiters are granted nothing more. It still sends and receives events. */
  async retire(): Promise<void> {
    const { db, log, instance } = this.#deps;
    this.#isRetired = true;
    await this.#connection?.stopBeating();
    await endServer(db, instance).catch((error: unknown) =>
      log("warn", "the other servers wait for this one for a second", { error }),
    );
  }

  /** Retires, sends what is on its way, and ends the connection. */
  async close(): Promise<void> {
    await this.retire();
    await this.#sending;
    this.#stopping.abort();
    await this.#listening;
  }

  /** After an error, events aren't sent again: all servers read the rows once the database is back. */
  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const payloads = [...this.#pending];
      this.#pending.clear();
      try {
        await notify(this.#deps.db, payloads);
      } catch (error) {
        this.#deps.log("error", "the other servers could not be rung", { error });
      }
    }
    // In the same turn as the last check: a later event has to start sending again.
    this.#sending = undefined;
  }

  async #connect(): Promise<Connection> {
    const { url, clock, instance, objectStore } = this.#deps;
    const client = new pg.Client({
      connectionString: connectionString(url),
      keepAlive: true,
      // It is never silent for long: a heartbeat is sent all the time.
      stream: () => socketThatEnds(() => true),
      connectionTimeoutMillis: answerMilliseconds,
      application_name: "pipeline-runs events",
    });
    const { promise: lost, resolve } = Promise.withResolvers<void>();
    client.on("error", () => resolve());
    client.on("end", () => resolve());
    client.on("notification", ({ payload }) => this.#hear(payload));
    try {
      await client.connect();
      await client.query(sessionSettings);
      // Heartbeats need no sync, since they hold for a second only: a slow disk must not make every server look dead.
      await client.query("set synchronous_commit = off");
      await client.query(`listen ${channel}`);
      if (!this.#isRetired) await sayAlive(client, instance, objectStore);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    const beating = repeat(clock, beatMilliseconds, async () => {
      if (this.#isRetired) return;
      const cancelTimer = systemClock.after(answerMilliseconds, resolve);
      await sayAlive(client, instance, objectStore).catch(() => resolve());
      cancelTimer();
    });
    const end = () => {
      void beating.stop();
      void client.end().catch(() => {});
      resolve();
    };
    return { lost, stopBeating: beating.stop, end };
  }

  async #keepListening(first: Connection): Promise<void> {
    const { signal } = this.#stopping;
    this.#connection = first;
    signal.addEventListener("abort", () => this.#connection?.end(), { once: true });
    while (!signal.aborted) {
      await this.#connection?.lost;
      this.#connection?.end();
      if (signal.aborted) return;
      if (this.#connection !== undefined)
        this.#deps.log("warn", "other servers are not heard, connecting again");
      this.#connection = undefined;
      await pause(reconnectPause, undefined, { signal }).catch(() => {});
      this.#connection = await this.#connect().catch(() => undefined);
      if (this.#connection !== undefined) this.#ringAll();
    }
    this.#connection?.end();
  }

  #hear(payload = ""): void {
    const parsed = ringSchema.safeParse(jsonOf(payload));
    if (!parsed.success) return;
    const { org, ...said } = parsed.data;
    const event: TeamEvent = said;
    if (event.kind === "org" || event.kind === "run") this.emitHere(org, event);
    for (const listener of this.#toAll) listener(org, event);
  }

  /** Makes all listeners read the rows again, from where they were. */
  #ringAll(): void {
    this.emitToAll({ kind: "org" });
    for (const listener of this.#toAll) listener("", { kind: "org" });
  }
}

interface Connection {
  readonly lost: Promise<void>;
  /** Stops the heartbeats. Resolves once the last one is written. */
  stopBeating(): Promise<void>;
  end(): void;
}

/** Anyone who may connect to the database can send anything. @returns undefined for what isn't JSON. */
function jsonOf(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}

/** The events between servers: changes, and that a run's log has grown, a runner may take a run, or a run is to be stopped. */
type TeamEvent = BusEvent | { readonly kind: "log" | "work" | "stop"; readonly runId: string };

/** The channel on which the servers of a database notify each other. */
export const channel = "pipeline_runs";

/** An event as a notification carries it. */
export function payloadOf(orgId: string, event: TeamEvent): string {
  return JSON.stringify({ org: orgId, ...event });
}

/** Notifies every server, at the commit if there is a transaction. The servers read from the rows what has changed. */
export async function notify(db: Database, payloads: readonly string[]): Promise<void> {
  await sql`select pg_notify(${channel}, payload) from unnest(${[...payloads]}::text[]) payload`.execute(db);
}
