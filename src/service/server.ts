import { randomBytes } from "node:crypto";
import { addAbortListener } from "node:events";
import type { Server } from "node:http";
import { hostname } from "node:os";
import { PipelineError } from "../contract/errors.ts";
import { type Clock, systemClock } from "../machine/clock.ts";
import { type Connection, isStopped, setStopped } from "../machine/connectionFile.ts";
import { type OtherOwner, prepareDataFolder } from "../machine/dataFolder.ts";
import type { Log } from "../machine/log.ts";
import { launchRunner } from "../runner/launch/launch.ts";
import { machineMilliseconds } from "../runner/launch/protocol.ts";
import { ReadyRunner } from "../runner/launch/readyRunner.ts";
import { cleanupPart } from "../runner/launch/runLimit.ts";
import { endLeftovers } from "../runner/processes/endProcesses.ts";
import type { ProcessTable } from "../runner/processes/processTable.ts";
import { processTable } from "../runner/processes/systemProcesses.ts";
import { createApp } from "./app.ts";
import { type Core, type CoreDeps, openCore } from "./core.ts";
import type { AppDeps } from "./http/appDeps.ts";
import { createHttpServer } from "./http/httpServer.ts";
import { OpenReplies, watchRevokedKeys } from "./http/openReplies.ts";
import { OrgEvents } from "./http/orgEvents.ts";
import {
  keepPublished,
  listenOnLoopback,
  publishConnection,
  type RequestedPort,
} from "./lifecycle/connection.ts";
import { shutDown, watchIdle } from "./lifecycle/ending.ts";
import { type FolderLock, lockFolder, watchFolder } from "./lifecycle/folderLock.ts";
import { emitAtMidnight, watchLimits } from "./lifecycle/orgChanges.ts";
import { type MachineParts, machineDeps } from "./machineDeps.ts";
import type { ActiveRunsDeps } from "./runs/activeRuns.ts";
import type { Pipelines } from "./runs/projectPipelines.ts";
import { defaultRetention, type Retention, sweepHourly } from "./runs/retention.ts";
import { RunLogs, runFolder } from "./runs/runLogs.ts";
import { renewMachineKey } from "./store/keys.ts";
import { openDatabase } from "./store/openDatabase.ts";
import { endAllSessions } from "./store/sessions.ts";

export interface ServeOptions {
  readonly folder: string;
  /** Whether root may serve another user's folder; `refused` by default. */
  readonly otherOwner?: OtherOwner | undefined;
  readonly port: RequestedPort;
  /** The program that each run is started with. */
  readonly runnerPath: string;
  /** The built style and script of the page; undefined for none. */
  readonly pageFolder?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** A face that is newer asks this service to leave for its own. */
  readonly version?: string | undefined;
  /** The service ends after so many seconds without faces, runs and waiters; undefined for never. */
  readonly idleSeconds?: number | undefined;
  readonly clock?: Clock;
  readonly retention?: Partial<Retention>;
  /** The time between SIGTERM and SIGKILL for a run's processes, in milliseconds. */
  readonly graceMilliseconds?: number;
  /** Replaces the runner's program: a benchmark's runs have no processes. */
  readonly launch?: ActiveRunsDeps["launch"];
}

export interface Serving {
  readonly url: string;
  /** Settles when the service has stopped, for whatever reason. */
  readonly stopped: Promise<void>;
  /** Ends the runs, closes the server, and unlocks the folder. */
  stop(): Promise<void>;
}

const machineOrg = "This machine";

/** Closes whatever is open so far, in reverse order, when the start fails. */
type Opened = (() => unknown)[];

/**
 * Starts the embedded service on loopback.
 * @returns "taken" when another process serves this folder already.
 * @throws PipelineError when the folder or the port can't be used; then nothing is left open.
 */
export async function serve(options: ServeOptions): Promise<Serving | "taken"> {
  const opened: Opened = [];
  try {
    await prepareDataFolder(options.folder, options.otherOwner ?? "refused");
    const lock = lockFolder(options.folder);
    if (lock === undefined) return "taken";
    opened.push(() => lock[Symbol.dispose]());
    return await serveLocked(options, lock, opened);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    if (error instanceof PipelineError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new PipelineError("internal", `The data folder ${options.folder} can't be used: ${why}.`, {
      cause: error,
      next: "Check that it can be written and the disk isn't full, or name another with PIPELINE_DATA_DIR or --data-dir.",
    });
  }
}

async function serveLocked(options: ServeOptions, lock: FolderLock, opened: Opened): Promise<Serving> {
  const { folder, log, clock = systemClock, version } = options;
  const stopping = new AbortController();
  const instance = randomBytes(16).toString("hex");
  const db = await openDatabase(folder, { lockMilliseconds: 0, log });
  opened.push(() => db.destroy());
  const logs = new RunLogs({ folder, log, now: clock.now });
  const processes = processTable(process.platform);
  const runners = new ReadyRunner({ ...options, execPath: process.execPath, processes }, clock);
  opened.push(() => runners[Symbol.dispose]());
  const runner = `embedded@${hostname()}`;
  const ofRuns = runProcesses(options, { clock, processes, runners });
  const core = await openCore({ db, clock, log, logs, instance, runner, ...ofRuns });
  opened.push(() => core.close());
  const { writer, makeId } = core;
  const machineKey = await writer.write((tx) => renewMachineKey(tx, machineOrg, { now: clock.now, makeId }));

  const replies = new OpenReplies();
  const app = createApp({
    ...core,
    clock,
    logs,
    dataName: folder,
    replies,
    log,
    instance,
    version,
    stopping: stopping.signal,
    machine: machineDeps(options, { core, replies, clock, stopping, runners, keyId: machineKey.keyId }),
    ...pipelinesOnUse(core, clock, stopping.signal),
    events: new OrgEvents({ ...core, db, clock, log }),
    pageFolder: options.pageFolder,
  });
  const published = Promise.withResolvers<void>();
  const server = createHttpServer({ app: heldUntil(published.promise, app), replies, clock, log });
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  // Another program has the old port now, and pages that are still open have sent it their cookies.
  const port = await listenOnLoopback(server, options, () => endAllSessions(db));
  const connection: Connection = {
    url: `http://127.0.0.1:${port}`,
    pid: process.pid,
    token: machineKey.secret,
    instance,
    ...(version === undefined ? {} : { version }),
    ...(options.idleSeconds === undefined && { inForeground: true }),
  };
  const isOnDemand = options.idleSeconds !== undefined;
  // Before publishing: whoever finds this service may stop it at once, which has to last. A start on demand has done this.
  if (!isOnDemand) await setStopped(folder, false);
  await publishConnection(folder, connection);
  let why: string | undefined;
  const onLost = () => {
    why = "its data folder or database was moved or deleted";
    log("error", "the data folder or database was moved or deleted, so this service ends", { folder });
    stopping.abort();
  };
  const stopJobs = await startJobs(options, { clock, core, server, replies, connection, stopping, onLost });
  const { url, pid } = connection;
  log("info", "serving", { url, pid });

  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const end = async () => {
    await shutDown({ core, server, replies, stopJobs, folder, instance, log, why })
      .catch((error: unknown) => log("error", "the service did not end in order", { error }))
      .finally(() => {
        runners[Symbol.dispose]();
        lock[Symbol.dispose]();
      });
    log("info", "stopped", {});
    resolve();
  };
  addAbortListener(stopping.signal, () => void end());
  // A person may have stopped the service while this one began: `stopped` is set before a service is looked for.
  if (isOnDemand && isStopped(folder)) stopping.abort();
  published.resolve();
  return {
    url,
    stopped,
    stop() {
      stopping.abort();
      return stopped;
    },
  };
}

/** How long after the start the parser is loaded at the latest, in milliseconds. */
const settled = 1_000;

/**
 * Loads the parser of pipeline files, a third of all that there is to load, only with the first project or start, or a little
 * later: whoever starts the service waits for its first answer.
 */
function pipelinesOnUse(
  { db, runs }: Core,
  clock: Clock,
  stopping: AbortSignal,
): Pick<AppDeps, "pipelines" | "prepare"> {
  let pipelines: Pipelines | undefined;
  const load = async () => {
    const { folderPipelines } = await import("./runs/projectPipelines.ts");
    pipelines ??= folderPipelines(db);
    return pipelines;
  };
  // An error here is thrown again where the parser is needed.
  const loadAhead = () => void load().catch(() => {});
  addAbortListener(stopping, clock.after(settled, loadAhead));
  return {
    pipelines: {
      list: async (...asked) => (await load()).list(...asked),
      find: async (...asked) => (await load()).find(...asked),
    },
    prepare: (environment) => {
      loadAhead();
      runs.prepare(environment);
    },
  };
}

type FetchingApp = Pick<ReturnType<typeof createApp>, "fetch">;

/** Holds every request until the connection file is written: a face whose old key is refused looks there for the new one. */
function heldUntil(published: Promise<void>, app: FetchingApp): FetchingApp {
  return {
    fetch: async (...request) => {
      await published;
      return app.fetch(...request);
    },
  };
}

/**
 * How much longer than a run's time limit its own process waits, in milliseconds, so that it ends the run by itself only where
 * this service can't, as when it is suspended.
 */
const runnerPatience = 1_000;

/** How runs get their processes, and how those of an earlier service are ended. */
function runProcesses(
  { folder, launch, graceMilliseconds = 5_000 }: ServeOptions,
  {
    clock,
    processes,
    runners,
  }: Pick<MachineParts, "clock" | "runners"> & { readonly processes: ProcessTable },
): Pick<CoreDeps, "launch" | "prepareRunner" | "endLeftovers"> {
  const now = () => new Date(clock.now());
  return {
    launch:
      launch ??
      ((job, listeners) => {
        const limit = job.timeLimitSeconds * 1000;
        const livesUntil = machineMilliseconds() + limit + runnerPatience;
        return launchRunner(
          {
            ...job,
            artifactsFolder: runFolder(folder, job.runId).artifacts,
            livesUntil,
            cleanUpAt: livesUntil - cleanupPart(limit, job.pipeline),
          },
          { runners, graceMilliseconds, processes, now, ...listeners },
        );
      }),
    prepareRunner: launch === undefined ? (environment) => runners.prepare(environment) : () => {},
    endLeftovers: (run) => endLeftovers(run, { processes, graceMilliseconds }),
  };
}

interface JobDeps extends Pick<MachineParts, "core" | "replies" | "clock" | "stopping"> {
  readonly server: Server;
  readonly connection: Connection;
  readonly onLost: () => void;
}

/** Starts the service's background jobs. @returns a function that stops them; resolves when nothing is under way. */
async function startJobs(
  { folder, log, idleSeconds, retention }: ServeOptions,
  { clock, core, server, replies, connection, stopping, onLost }: JobDeps,
): Promise<() => Promise<void>> {
  const { db, writer, bus, admission, runs } = core;
  const isBusy = () => replies.count + runs.count + admission.waiting > 0;
  const stops = [
    await watchFolder({
      folder,
      clock,
      log,
      onLost,
      // Some cleanup may have removed the connection file, without which no face finds this service.
      onChecked: () => keepPublished(folder, connection),
    }),
    emitAtMidnight(clock, bus),
    watchRevokedKeys({ db, clock, log }, replies),
    watchLimits({ db, clock, bus, admission, log }),
    sweepHourly({ db, writer, folder, clock, log, retention: { ...defaultRetention, ...retention } }),
  ];
  const onIdle = () => stopping.abort();
  if (idleSeconds !== undefined)
    stops.push(watchIdle({ isBusy, requests: server, idleSeconds, clock, onIdle }));
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}
