import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { PipelineError } from "../contract/errors.ts";
import { snapshotSeconds } from "../contract/service.ts";
import { type Clock, repeat } from "../machine/clock.ts";
import type { Log } from "../machine/log.ts";
import { createApp } from "../service/app.ts";
import type { Endpoints } from "../service/http/endpoints.ts";
import { connectionLimits, createHttpServer } from "../service/http/httpServer.ts";
import { OpenReplies, watchRevokedKeys } from "../service/http/openReplies.ts";
import { OrgEvents } from "../service/http/orgEvents.ts";
import { HttpProblem, reply, unavailable } from "../service/http/reply.ts";
import { listen } from "../service/lifecycle/connection.ts";
import { emitAtMidnight } from "../service/lifecycle/orgChanges.ts";
import { OrgBusyError } from "./admission/orgTurns.ts";
import { DefinitionParser } from "./definitionParser.ts";
import { runnerRoutes, snapshotRoutes } from "./http/runnerRoutes.ts";
import { ServerMetrics } from "./metrics.ts";
import { openSharedCore, type SharedCore } from "./sharedCore.ts";
import { keepMoving, type MoveDeps, secondsUnmoved, settleObjectStore } from "./store/movedFiles.ts";
import { ObjectStore, ObjectStoreError, type ObjectStoreSettings } from "./store/objectStore.ts";
import { connectionString } from "./store/openPostgres.ts";
import { sweepServers } from "./store/servers.ts";
import { storedLogs } from "./store/storedLogs.ts";
import { storedPipelines } from "./store/storedPipelines.ts";
import { sweepStored } from "./store/storedRetention.ts";
import { shortenLeases } from "./store/work.ts";

export interface ServeDatabaseOptions {
  /** A `postgres://` URL. */
  readonly url: string;
  /** The address to listen on. */
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** The built style and script of the page; undefined for none. */
  readonly pageFolder?: string | undefined;
  /** The program of `parserThread.ts`. */
  readonly parserPath: string;
  readonly version?: string | undefined;
  /** How long logs, artifacts and snapshots are kept. */
  readonly retentionDays: number;
  /** Where the logs and artifacts of ended runs are moved; undefined to keep them in the database. */
  readonly objectStore?: ObjectStoreSettings | undefined;
  readonly log: Log;
  /** The database's clock where none is given. */
  readonly clock?: Clock | undefined;
}

export interface ServingDatabase {
  readonly url: string;
  /** Turns all waiters away, so that they ask another server; ends the open replies, and closes the database. */
  stop(): Promise<void>;
}

/** How often the server looks for dead servers, and for leases that are too long since a clock was set back, in milliseconds. */
const sweepMilliseconds = 1_000;
/**
 * How long an idle connection stays open, in milliseconds. Longer than most balancers keep theirs (60 s): a balancer that sends a
 * request just as the server closes the connection answers 502.
 */
const keepAliveTimeout = 75_000;
/** How often the server removes what is past its retention, in milliseconds. */
const removeMilliseconds = 300_000;

/**
 * Starts a server of the service on PostgreSQL. It keeps nothing of its own: any number of them serve one database, behind
 * any balancer, and any of them may die.
 * @throws PipelineError when the database or the port can't be used; then nothing is left open.
 */
export async function serveDatabase(options: ServeDatabaseOptions): Promise<ServingDatabase> {
  const { url, host, port, log, version, pageFolder, parserPath, objectStore } = options;
  const instance = randomBytes(16).toString("hex");
  const stopping = new AbortController();
  const metrics = new ServerMetrics();
  const core = await openSharedCore({
    url,
    log,
    instance,
    clock: options.clock,
    objectStore: objectStore?.name,
    observe: (what, milliseconds) => metrics.observe(what, milliseconds),
  });
  metrics.begin(core);
  const { db, clock } = core;
  const store = objectStore && new ObjectStore(objectStore, clock.now);
  const parser = new DefinitionParser({ threadPath: parserPath, stopping: stopping.signal, log });
  const replies = new OpenReplies();
  const app = createApp({
    ...core,
    replies,
    instance,
    version,
    pageFolder,
    stopping: stopping.signal,
    machine: undefined,
    isOnNetwork: true,
    dataName: dataNameOf(url),
    logs: storedLogs({ ...core, store }),
    pipelines: storedPipelines(db, parser),
    events: new OrgEvents(core),
    // Not needed on request: each server recovers runs all the time.
    recover: () => {},
    added: {
      problemOf: (error) => asUnavailable(error, stopping.signal),
      addRoutes: (endpoints) => {
        snapshotRoutes(endpoints, core);
        runnerRoutes(endpoints, { ...core, stopping: stopping.signal });
        operationRoutes(endpoints, core, metrics, stopping.signal);
      },
    },
  });
  // The files of a project may come over a slow network.
  const limits = { ...connectionLimits, requestTimeout: snapshotSeconds * 1000, keepAliveTimeout };
  const server = createHttpServer({ app, replies, clock, log, limits, hostname: "localhost" });
  let listening: number;
  try {
    await settleObjectStore(db, store, log);
    listening = await listen(server, port, host, "Name another --port, or another --host.");
  } catch (error) {
    await core.close();
    throw error;
  }
  const stopJobs = startJobs(core, replies, {
    ...options,
    store,
    metrics,
    instance,
    stopping: stopping.signal,
  });
  log("info", "serving", { host, port: listening });
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${listening}`,
    async stop() {
      stopping.abort();
      replies.stop();
      const serverClosed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await core.turnAway();
      await replies.finish();
      server.closeAllConnections();
      await serverClosed;
      await stopJobs();
      await core.close();
      log("info", "stopped");
    },
  };
}

interface OwnJobs extends Pick<MoveDeps, "instance" | "retentionDays" | "stopping"> {
  readonly store: ObjectStore | undefined;
  readonly metrics: ServerMetrics;
}

/** Starts the server's background jobs. @returns a function that stops them; resolves when nothing is under way. */
function startJobs(core: SharedCore, replies: OpenReplies, own: OwnJobs): () => Promise<void> {
  const { db, writer, clock, bus, log } = core;
  const { retentionDays, store, metrics } = own;
  const stopMidnight = emitAtMidnight(clock, bus);
  const stopRevoking = watchRevokedKeys(core, replies);
  let isFailing = false;
  const sweeping = repeat(clock, sweepMilliseconds, async () => {
    try {
      await sweepServers(db);
      await shortenLeases(db);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log("error", "dead servers are not removed, trying again", { error });
      isFailing = true;
    }
  });
  const removing = repeat(clock, removeMilliseconds, () =>
    sweepStored(writer, retentionDays, clock.now(), store).then(
      (count) => count > 0 && log("info", "files of runs removed", { runs: count }),
      (error: unknown) => log("error", "files of runs not removed", { error }),
    ),
  );
  const moves = store && { ...own, ...core, store };
  const stopMoving = moves && keepMoving(moves);
  if (moves !== undefined) metrics.watchMoves(() => secondsUnmoved(moves));
  return async () => {
    await stopMidnight();
    await stopRevoking();
    await sweeping.stop();
    await removing.stop();
    await stopMoving?.();
  };
}

/** What operators of a service for many machines ask: whether it can answer, and its metrics. */
function operationRoutes(
  endpoints: Endpoints,
  { bus, db }: SharedCore,
  metrics: ServerMetrics,
  stopping: AbortSignal,
): void {
  endpoints.add(
    {
      method: "get",
      path: "/readyz",
      summary: "Says whether this server can answer from its database",
      access: "open",
      reply: { description: "It can.", json: "Health" },
    },
    async () => {
      if (stopping.aborted) throw unavailable("This server is about to end.");
      const isThere = () =>
        sql`select 1`.execute(db).then(
          () => true,
          () => false,
        );
      if (!bus.isListening || !(await isThere()))
        throw unavailable("The database is out of reach, or tells nothing of other servers.");
      return reply({ ok: true });
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/metrics",
      summary: "Counts and durations as Prometheus text; answered on loopback only",
      access: "open",
      reply: { description: "The metrics.", text: ["text/plain"] },
    },
    async (context) => {
      const { remoteAddress = "" } = context.env.incoming.socket;
      // A balancer on this machine asks on behalf of others.
      const isForwarded = ["forwarded", "x-forwarded-for"].some(
        (name) => context.req.header(name) !== undefined,
      );
      if (isForwarded || !/^(127\.|::1$|::ffff:127\.)/.test(remoteAddress)) {
        throw new PipelineError("forbidden", "Metrics are shown on the server's own machine only.", {
          next: "Ask on 127.0.0.1, where an agent of your monitoring runs.",
        });
      }
      return new Response(await metrics.text(), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      });
    },
  );
}

/** Names the database without its password, wherever the URL has its host, port and name. */
export function dataNameOf(url: string): string {
  const { host, port, database } = new pg.Client(connectionString(url));
  // None where the URL has none: the page's cookie is named after this, and another name signs everybody out.
  const written = /:\d+([/?]|$)|[?&]port=/.test(url) ? `:${port}` : "";
  return `${host}${written}/${database}`;
}

/**
 * The problem of a request that failed because the database or the object store is out of reach, the org has too many requests,
 * or this server is about to end. None of these is the request's fault, and all pass.
 * @param stopping the server's.
 * @returns undefined for any other error.
 */
export function asUnavailable(error: unknown, stopping: AbortSignal): HttpProblem | undefined {
  if (isDatabaseAway(error)) return unavailable("The database is out of reach.");
  if (error instanceof pg.DatabaseError && tookTooLong.has(error.code ?? ""))
    return unavailable("The database doesn't answer: its tables may be locked, or it has too much to do.");
  if (error instanceof ObjectStoreError)
    return unavailable("The object store with the logs and artifacts of ended runs is out of reach.");
  if (error instanceof OrgBusyError) return unavailable("The org has too many requests at once.");
  if (stopping.aborted && !(error instanceof HttpProblem)) return unavailable("This server is about to end.");
  return undefined;
}

/** PostgreSQL's codes for a canceled statement, and for a lock that wasn't free in time. */
const tookTooLong: ReadonlySet<string> = new Set(["57014", "55P03"]);

/** What the system and PostgreSQL say of a connection that can't be made, is broken off, or leads to a standby. */
const awayCodes =
  /^(?:ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0[123]|25006|25P03|08\w{3}|53300)$/;
/** What `pg` says of it where it gives no code. */
const awayMessages = /^Connection terminated|timeout exceeded when trying to connect|^Client has encountered/;

function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && typeof error.code === "string" && awayCodes.test(error.code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseAway);
  return awayMessages.test(error.message);
}
