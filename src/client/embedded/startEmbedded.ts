import { spawn } from "node:child_process";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import {
  type Connection,
  isStopped,
  readConnection,
  ServiceStopped,
  setStopped,
} from "../../machine/connectionFile.ts";
import { lastLines, openServiceLog, prepareDataFolder, serviceLogFile } from "../../machine/dataFolder.ts";
import { refuseOldNode } from "../../machine/versions.ts";
import { type Environment, lastingEnvironment } from "../../project/environment.ts";
import { shortageOf } from "../../project/systemErrors.ts";
import { AbsentEndpoint } from "../service/replyErrors.ts";
import { type Embedded, type FindDeps, findEmbedded } from "./findEmbedded.ts";

/**
 * Why the embedded service may be started. `needed`: a face needs it; one that a person has stopped stays stopped. `asked`: a
 * person asked for a run or for the service itself.
 */
export type StartWhen = "needed" | "asked";

export interface ConnectDeps extends FindDeps {
  readonly env: Environment;
  /** The Node that runs the service, or an editor's Electron, which serves as one. */
  readonly execPath: string;
  /** The service's main file. */
  readonly servicePath: string;
  readonly spawn?: typeof spawn;
  /** The face's version, which its service shares; by default the product's own. */
  readonly version?: string | undefined;
  /** `needed` by default. */
  readonly start?: StartWhen;
}

const answerWithinSeconds = 20;
const pollMilliseconds = 10;
/** How long a starter whose service yielded waits for the other one before it starts another. Doubles each time. */
const retryMilliseconds = 2000;

/**
 * Starts the embedded service and waits until one answers, this one or another face's. Loaded only if none is running.
 *
 * @param leaving the service that has agreed to make way for this one.
 * @throws as `connectEmbedded`.
 */
export async function startEmbedded(
  deps: ConnectDeps,
  leaving: Connection | undefined,
  signal: AbortSignal,
): Promise<Embedded> {
  // The service runs on the Node that runs this.
  refuseOldNode();
  const clock = deps.clock ?? systemClock;
  await makeDataFolder(deps.folder);
  // Not left to the service: one that starts slowly would undo a stop requested after its start.
  if (deps.start === "asked") await setStopped(deps.folder, false);
  const deadline = clock.monotonic() + answerWithinSeconds * 1000;
  let isHeld = false;
  for (let patience = retryMilliseconds; ; patience *= 2) {
    const stateOf = await spawnService(deps, leaving !== undefined);
    let yieldedAt: number | undefined;
    for (;;) {
      const state = await stateOf();
      const found = await findEmbedded(deps, signal);
      // The old service stays if a run was started in the meantime.
      const isOld = leaving !== undefined && found?.connection.instance === leaving.instance;
      if (found !== undefined && (!isOld || state.kind !== "running")) return found;
      if (state.kind === "failed") throw state.error;
      const now = clock.monotonic();
      if (now >= deadline) throw await silent(deps.folder, isHeld);
      if (state.kind === "yielded") {
        if (isStopped(deps.folder)) throw new ServiceStopped();
        isHeld = true;
        yieldedAt ??= now;
      }
      if (yieldedAt !== undefined && now >= yieldedAt + patience) break;
      await clock.sleep(pollMilliseconds, signal);
    }
  }
}

async function makeDataFolder(folder: string): Promise<void> {
  try {
    await prepareDataFolder(folder, "refused");
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    const shortage = shortageOf(cause);
    const why = shortage?.why ?? describeError(cause);
    throw new PipelineError("internal", `The embedded service's folder ${folder} can't be made: ${why}.`, {
      cause,
      next:
        shortage === undefined
          ? "Name another folder with PIPELINE_DATA_DIR."
          : `${shortage.next} Or name another folder with PIPELINE_DATA_DIR.`,
    });
  }
}

/** If machines or containers share the folder, its holder's port may be out of reach, and its process id means nothing here. */
const endHolder =
  "End that process and try again. If it runs in another container or on another machine, which shares the folder, name a folder of this one's own with PIPELINE_DATA_DIR.";

/** @param isHeld whether another service holds the folder's lock, which keeps any other from starting. */
async function silent(folder: string, isHeld: boolean): Promise<PipelineError> {
  const holder = isHeld ? await readConnection(folder) : undefined;
  if (holder !== undefined) {
    return new PipelineError(
      "out-of-reach",
      `The embedded service (process ${holder.pid}) has not answered for ${answerWithinSeconds} s, though it still holds its folder.`,
      { next: `${endHolder} Its log is ${serviceLogFile(folder)}.` },
    );
  }
  return new PipelineError(
    "out-of-reach",
    `The embedded service did not answer within ${answerWithinSeconds} s.`,
    { next: `Its log is ${serviceLogFile(folder)}.` },
  );
}

/** The state of a spawned service. */
type ServiceProcess =
  | { readonly kind: "running" }
  /** Another service holds the folder's lock, or a person has stopped the service in the meantime. */
  | { readonly kind: "yielded" }
  | { readonly kind: "failed"; readonly error: PipelineError };

/**
 * Spawns the embedded service, detached from its starter: `execPath servicePath --idle-exit`, in the data folder, with its
 * output in `service.log`.
 *
 * The service's side is `service/serveMachine.ts`: it takes an exclusive lock in `PIPELINE_DATA_DIR` and writes the
 * connection file once it answers. Without the lock it exits with code 0, at once or, with `--take-over`, after some seconds.
 * Any other exit is a failure, whose reason is in the log.
 *
 * @param takesOver whether it replaces a service that is leaving, and waits some seconds for it.
 * @returns a function that reads the process's state.
 */
async function spawnService(
  { folder, execPath, servicePath, env, spawn: start = spawn }: ConnectDeps,
  takesOver: boolean,
): Promise<() => Promise<ServiceProcess>> {
  await using log = await openServiceLog(folder);
  const { size: logStart } = await log.stat();
  const words = [servicePath, "--idle-exit", ...(takesOver ? ["--take-over"] : [])];
  const child = start(execPath, words, {
    cwd: folder,
    env: { ...lastingEnvironment(env), ELECTRON_RUN_AS_NODE: "1", PIPELINE_DATA_DIR: folder },
    detached: true,
    windowsHide: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  let state: () => Promise<ServiceProcess> = async () => ({ kind: "running" });
  child.once("error", (cause) => {
    const shortage = shortageOf(cause);
    const why = shortage === undefined ? "" : `: ${shortage.why}`;
    const error = new PipelineError("internal", `The embedded service can't be run by ${execPath}${why}.`, {
      cause,
      next: shortage?.next ?? "Check that this program is there and may be run.",
    });
    state = async () => ({ kind: "failed", error });
  });
  child.once("exit", (code, killedBy) => {
    state = async () =>
      code === 0
        ? { kind: "yielded" }
        : { kind: "failed", error: await failure(folder, logStart, code ?? killedBy ?? "unknown") };
  });
  child.unref();
  return () => state();
}

async function failure(folder: string, logStart: number, end: number | string): Promise<PipelineError> {
  const lines = await lastLines(folder, logStart, 40).catch((): string[] => []);
  const how = typeof end === "number" ? `exit code ${end}` : `signal ${end}`;
  const said = lastWords(lines);
  const shortage = said === "" ? await logShortage(folder) : undefined;
  if (shortage !== undefined)
    return new PipelineError("internal", `The embedded service can't write to ${folder}: ${shortage.why}.`, {
      next: shortage.next,
    });
  return new PipelineError(
    "internal",
    `The embedded service ended with ${how} before it answered${said === "" ? "." : `: ${said}`}`,
    { next: `Its log is ${serviceLogFile(folder)}.` },
  );
}

/** Why a service that logged nothing couldn't write to its log, as on a full disk; undefined if it could. */
async function logShortage(folder: string): Promise<ReturnType<typeof shortageOf>> {
  return openServiceLog(folder)
    .then((log) => log.appendFile("\n").finally(() => log.close()))
    .then(() => undefined, shortageOf);
}

/** The message of an uncaught error, without its stack; otherwise the last lines. */
function lastWords(lines: readonly string[]): string {
  const words = lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.slice(-3).join(" / ");
  return words === "" || /[.!?]$/.test(words) ? words : `${words}.`;
}

/**
 * Ends the embedded service in order, and keeps faces from starting it until a person asks for it, even if none is running.
 *
 * @returns once its runs have ended; it leaves its folder a moment later. Undefined if none is running.
 * @throws PipelineError `not-supported` for an older service, whose process must be ended instead; as `ServiceClient.stopService`
 * and `prepareDataFolder`; the signal's reason.
 */
export async function stopEmbedded(deps: FindDeps, signal: AbortSignal): Promise<Ended | undefined> {
  await prepareDataFolder(deps.folder, "refused");
  // First, so that a face that misses the service doesn't start it.
  await setStopped(deps.folder, true);
  const was = await findEmbedded(deps, signal);
  return was && end(was, signal);
}

/**
 * Ends the embedded service like {@link stopEmbedded}, if one is running, and starts it. Faces that wait or follow find the new
 * one.
 *
 * @throws PipelineError `conflict` for a service in the foreground, since its starter wouldn't notice its replacement; as
 * `stopEmbedded` and `connectEmbedded`.
 */
export async function restartEmbedded(
  deps: ConnectDeps,
  signal: AbortSignal,
): Promise<{ readonly ended: Ended | undefined; readonly now: Embedded }> {
  const was = await findEmbedded(deps, signal);
  if (was?.connection.inForeground) {
    const { pid, url } = was.connection;
    throw new PipelineError("conflict", `The service at ${url} (process ${pid}) runs in the foreground.`, {
      next: "Restart it where it was started: end it by Ctrl-C or its service manager, then call `pipeline serve` again.",
    });
  }
  const ended = was && (await end(was, signal));
  return { ended, now: await startEmbedded({ ...deps, start: "asked" }, ended?.was.connection, signal) };
}

/** A service that was ended, and what it was doing. */
export type Ended = Awaited<ReturnType<typeof end>>;

async function end(was: Embedded, signal: AbortSignal) {
  try {
    return { was, state: await was.client.stopService(signal) };
  } catch (error) {
    if (!(error instanceof AbsentEndpoint)) throw error;
    const { pid } = was.connection;
    throw new PipelineError(
      "not-supported",
      `The running service (process ${pid}) is of an older version, which can't be asked to stop.`,
      { cause: error, next: "End that process: its runs end with it." },
    );
  }
}
