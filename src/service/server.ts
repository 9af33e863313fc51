import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import type { Connection } from "../client/embedded/connectionFile.ts";
import { type OtherOwner, ownDataFolder } from "../client/embedded/dataFolder.ts";
import { type Clock, systemClock } from "../contract/clock.ts";
import { PipelineError } from "../contract/errors.ts";
import { secondsToReset, utcDay } from "../contract/time.ts";
import { openCore } from "./core.ts";
import type { EventBus } from "./eventBus.ts";
import { createApp } from "./http/app.ts";
import { createHttpServer } from "./http/httpServer.ts";
import { endRevoked, OpenReplies } from "./http/openReplies.ts";
import { OrgEvents } from "./http/orgEvents.ts";
import { ChangingRequests } from "./lifecycle/changingRequests.ts";
import { type FolderLock, lockFolder, watchFolder } from "./lifecycle/folderLock.ts";
import { HandOver } from "./lifecycle/handOver.ts";
import { watchIdle } from "./lifecycle/idle.ts";
import { keepPort, lastPort } from "./lifecycle/port.ts";
import { keepPublished, publishConnection, withdrawConnection } from "./lifecycle/publishConnection.ts";
import type { Log } from "./log.ts";
import { ProjectPipelines } from "./projectPipelines.ts";
import { launchRunner } from "./runner/launch.ts";
import { endLeftovers } from "./runner/processes/endProcesses.ts";
import { processTable } from "./runner/processes/systemProcesses.ts";
import type { ActiveRunsDeps } from "./runs/activeRuns.ts";
import { keepSwept, type Retention, retentionByDefault } from "./runs/retention.ts";
import { runFolder } from "./runs/runFolder.ts";
import { RunLogs } from "./runs/runLogs.ts";
import { renewMachineKey } from "./store/keys.ts";
import { openDatabase } from "./store/openDatabase.ts";
import { endAllSessions } from "./store/sessions.ts";

export interface ServeOptions {
  readonly folder: string;
  /** Else refused. */
  readonly otherOwner?: OtherOwner | undefined;
  /** 0 for any free one; `as-before` for the one of the last time, or any other when that is taken. */
  readonly port: number | "as-before";
  /** The program of one run, started anew for each. */
  readonly runnerPath: string;
  /** The built style and script of the page; undefined: without the page. */
  readonly pageFolder?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Told to the faces; one that is newer asks this service to leave for its own. */
  readonly version?: string | undefined;
  /** Ends by itself after so many seconds without faces, runs and waiters; undefined: never. */
  readonly idleSeconds?: number | undefined;
  readonly clock?: Clock;
  /** How long logs and artifacts are kept. */
  readonly retention?: Partial<Retention>;
  /** How long a run's processes have between being asked to end and being killed, in milliseconds. */
  readonly graceMilliseconds?: number;
  /** What makes a run's processes, where it isn't the runner's program: a benchmark's makes none. */
  readonly launch?: ActiveRunsDeps["launch"];
}

export interface Serving {
  readonly url: string;
  /** Settles when the service has stopped, for whatever reason. */
  readonly stopped: Promise<void>;
  /** Ends the runs, answers nobody any more, and gives the folder up. */
  stop(): Promise<void>;
}

/** The org of this machine's own faces. */
const machineOrg = "This machine";

/** What has been opened so far, and is closed again, last first, when the start fails. */
type Opened = (() => unknown)[];

/**
 * Starts the embedded service on loopback.
 * @returns "taken" when another process serves this folder already.
 * @throws PipelineError when the folder or the port can't be used; nothing is held any more then.
 */
export async function serve(options: ServeOptions): Promise<Serving | "taken"> {
  const opened: Opened = [];
  try {
    await ownDataFolder(options.folder, options.otherOwner ?? "refused");
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
  const { folder, log, clock = systemClock, graceMilliseconds = 5_000 } = options;
  const db = await openDatabase(folder, { lockMilliseconds: 0, log });
  opened.push(() => db.destroy());
  const processes = processTable(process.platform);
  const instance = randomBytes(16).toString("hex");
  const logs = new RunLogs({ folder, log, now: clock.now });
  const core = await openCore({
    db,
    clock,
    log,
    logs,
    instance,
    runner: `embedded@${hostname()}`,
    launch:
      options.launch ??
      ((job, onStep, { onOutput, onArtifact }) =>
        launchRunner(
          { ...job, artifactsFolder: runFolder(folder, job.runId).artifacts },
          {
            execPath: process.execPath,
            runnerPath: options.runnerPath,
            env: options.env,
            graceMilliseconds,
            processes,
            now: () => new Date(clock.now()),
            onStep,
            onOutput,
            onArtifact,
          },
        )),
    endLeftovers: (run) => endLeftovers(run, { processes, graceMilliseconds }),
  });
  opened.push(() => core.close());
  const { writer, makeId, bus, admission, runs, leases } = core;
  const sweep = () => void leases.sweep();
  const replies = new OpenReplies();
  let stopping = false;
  let ownKeyId: string | undefined;
  const { idleSeconds, version } = options;
  const handOver = new HandOver({
    endsByItself: idleSeconds !== undefined,
    isBusy: (changing) => runs.count + admission.waiting > 0 || requests.count > changing,
    clock,
    leave: () => {
      log("info", "leaving for a newer service");
      void stop();
    },
  });
  const deps = {
    db,
    writer,
    clock,
    makeId,
    admission,
    runs,
    pipelines: new ProjectPipelines(),
    sweep,
    bus,
    events: new OrgEvents({ db, clock, bus, runs, log }),
    logs,
    folder,
    replies,
    pageFolder: options.pageFolder,
    log,
    instance,
    life: { version, isEnding: () => stopping, handOver, isOwnKey: (keyId: string) => keyId === ownKeyId },
  };
  const server = createHttpServer({ app: createApp(deps), replies, clock, log });
  const requests = new ChangingRequests(server);
  // Whoever has the port by now was sent the cookies of the pages that are still open.
  const port = await listenAsAsked(server, options, () => endAllSessions(db));
  opened.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${port}`;
  const { secret, keyId } = await writer.write((tx) =>
    renewMachineKey(tx, machineOrg, { now: clock.now, makeId }),
  );
  ownKeyId = keyId;
  const connection: Connection = {
    ...{ url, pid: process.pid, token: secret, instance },
    ...(version === undefined ? {} : { version }),
  };
  await publishConnection(folder, connection);
  const stopWatch = await watchFolder({
    folder,
    clock,
    // A person who cleans up may take it away, and nobody would find this service any more.
    onKept: () => keepPublished(folder, connection),
    log,
    onLost: () => {
      log("error", "the data folder was moved or deleted, so this service ends", { folder });
      void stop();
    },
  });
  const stopResets = tellResets(clock, bus);
  const stopEndingRevoked = endRevoked({ db, clock, replies, log });
  const retention = { ...retentionByDefault, ...options.retention };
  const stopSweeping = keepSwept({ db, writer, folder, retention, clock, log });
  log("info", "serving", { url, pid: process.pid });

  const { promise: stopped, resolve: resolveStopped } = Promise.withResolvers<void>();
  const end = async () => {
    stopIdle();
    stopWatch();
    stopResets();
    stopEndingRevoked();
    replies.stop();
    // Before anything is waited for: a run that is granted now would only be ended again.
    const queueIsGone = admission.close();
    await withdrawConnection(folder, instance).catch((error: unknown) =>
      log("error", "the connection file could not be taken away", { error }),
    );
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    await queueIsGone;
    await runs.stopAll();
    // Only now, so that who follows a run is still told how it ended.
    await replies.finish();
    server.closeAllConnections();
    // By now whoever was being answered has been, or has left: no start is in between.
    await closed;
    await stopSweeping();
    await core.close();
  };
  const stop = async () => {
    if (!stopping) {
      stopping = true;
      await end()
        .catch((error: unknown) => log("error", "the service did not end in order", { error }))
        .finally(() => lock[Symbol.dispose]());
      log("info", "stopped", {});
      resolveStopped();
    }
    await stopped;
  };
  const stopIdle =
    idleSeconds === undefined
      ? () => {}
      : watchIdle({
          isBusy: () => replies.count + runs.count + admission.waiting > 0,
          requests: server,
          idleSeconds,
          clock,
          onIdle: () => void stop(),
        });
  return { url, stopped, stop };
}

/** Where the port of the last time is another program's by now, any is good. */
async function listenAsAsked(
  server: Server,
  { folder, port: asked }: Pick<ServeOptions, "folder" | "port">,
  onTaken: () => Promise<void>,
): Promise<number> {
  if (asked !== "as-before") return listen(server, asked);
  const before = await lastPort(folder);
  const port = await listen(server, before ?? 0).catch(async (error: unknown) => {
    if (before === undefined) throw error;
    await onTaken();
    return listen(server, 0);
  });
  if (port !== before) await keepPort(folder, port);
  return port;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "another program uses it" : cause.message;
      reject(
        new PipelineError("usage", `Port ${port} can't be used: ${why}.`, {
          cause,
          next: "Name another with --port, or 0 for any.",
        }),
      );
    };
    server.once("error", refuse);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", refuse);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** At 00:00 UTC the count starts again without anyone having done anything: every screen is told. */
function tellResets(clock: Clock, bus: EventBus): () => void {
  let takeBack = () => {};
  // Not one long timer: a machine that sleeps, or a clock that is set, would make it late.
  const longest = 60;
  let day = utcDay(clock.now());
  const next = () => {
    takeBack = clock.after(Math.min(secondsToReset(clock.now()), longest) * 1000, () => {
      const today = utcDay(clock.now());
      if (today !== day) bus.emitToAll({ kind: "org" });
      day = today;
      next();
    });
  };
  next();
  return () => takeBack();
}
