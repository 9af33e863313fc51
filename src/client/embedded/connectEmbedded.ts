import { spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../clock.ts";
import { ownDataFolder } from "../ownDataFolder.ts";
import { readConnection } from "./connectionFile.ts";
import { type Embedded, type FindDeps, findEmbedded } from "./findEmbedded.ts";
import { findRuntime, ownRuntime, type Runtime } from "./findRuntime.ts";
import { isOlder } from "./isOlder.ts";
import { ownVersion } from "./ownVersion.ts";
import { serviceLogFile } from "./serviceLog.ts";
import { type ServiceProgram, spawnService } from "./serviceProcess.ts";

export interface ConnectDeps extends FindDeps, Omit<ServiceProgram, "spawn"> {
  readonly spawn?: typeof spawn;
  /** The face's version, which is its service's too; the product's own when left out. */
  readonly version?: string | undefined;
  /** The runtime that the face is in; looked up when left out. */
  readonly own?: Runtime;
}

const answerWithinSeconds = 20;
const pollMilliseconds = 50;
/** How long a service that is asked to leave may take to say whether it does. */
const handOverWithinSeconds = 2;
/**
 * How long a starter whose service yielded looks for the other one before it starts another: that one may have been
 * ending. It doubles each time, since a machine that is slow to start one service is no faster at starting two.
 */
const retryMilliseconds = 2000;

/**
 * The embedded service of this machine, started when it isn't running. Any number of faces may do this at the same
 * time: whose service doesn't get the folder's lock goes on looking for the one that did. One that is older than this
 * face is asked to leave, and this face's own takes over; while it still has work, it is used as it is. A newer one is
 * used as it is.
 *
 * A service that was started goes on after an abort or an error here; it ends by itself when nobody uses it.
 *
 * @throws PipelineError `internal` with the service's last words when it ends before it answers, or when there is no
 * Node.js that can run it; `out-of-reach` when none answers within 20 s; the signal's reason.
 */
export async function connectEmbedded(deps: ConnectDeps, signal: AbortSignal): Promise<Embedded> {
  const running = await findEmbedded(deps, signal);
  const isLeaving = running !== undefined && (await agreesToLeave(running, deps, signal));
  if (running !== undefined && !isLeaving) return running;

  const clock = deps.clock ?? systemClock;
  const program = await programOf(deps, signal);
  await makeDataFolder(deps.folder);
  const deadline = clock.monotonic() + answerWithinSeconds * 1000;
  let isHeld = false;
  for (let patience = retryMilliseconds; ; patience *= 2) {
    const stateOf = await spawnService(program, { takesOver: isLeaving });
    let yieldedAt: number | undefined;
    for (;;) {
      const state = await stateOf();
      const found = await findEmbedded(deps, signal);
      // The old one may stay after all, when someone has started a run meanwhile.
      const isOld = isLeaving && found?.connection.instance === running?.connection.instance;
      if (found !== undefined && (!isOld || state.kind !== "running")) return found;
      if (state.kind === "failed") throw state.error;
      const now = clock.monotonic();
      if (now >= deadline) throw await silent(deps.folder, isHeld);
      if (state.kind === "yielded") {
        isHeld = true;
        yieldedAt ??= now;
      }
      if (yieldedAt !== undefined && now >= yieldedAt + patience) break;
      await clock.sleep(pollMilliseconds, signal);
    }
  }
}

/** Whether the service is older than this face, and leaves at once. One that can't be asked is used as it is. */
async function agreesToLeave(
  { connection, client }: Embedded,
  { version = ownVersion }: Pick<ConnectDeps, "version">,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isOlder(connection.version, version)) return false;
  try {
    return (await client.handOver(signal, handOverWithinSeconds)) === "now";
  } catch (error) {
    if (error instanceof PipelineError && !signal.aborted) return false;
    throw error;
  }
}

async function programOf(deps: ConnectDeps, signal: AbortSignal): Promise<ServiceProgram> {
  const own = deps.own ?? ownRuntime(deps.execPath);
  const execPath = await findRuntime({ own, env: deps.env, platform: process.platform }, signal);
  return { ...deps, execPath, spawn: deps.spawn ?? spawn };
}

async function makeDataFolder(folder: string): Promise<void> {
  try {
    await ownDataFolder(folder);
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The embedded service's folder can't be made: ${reason}.`, {
      cause,
      next: "Name another folder with PIPELINE_DATA_DIR.",
    });
  }
}

/** @param isHeld whether another service holds the folder, and so no other can begin. */
async function silent(folder: string, isHeld: boolean): Promise<PipelineError> {
  const holder = isHeld ? await readConnection(folder) : undefined;
  if (holder !== undefined) {
    return new PipelineError(
      "out-of-reach",
      `The embedded service (process ${holder.pid}) has not answered for ${answerWithinSeconds} s, though it still holds its folder.`,
      { next: `End that process and try again. Its log is ${serviceLogFile(folder)}.` },
    );
  }
  return new PipelineError(
    "out-of-reach",
    `The embedded service did not answer within ${answerWithinSeconds} s.`,
    { next: `Its log is ${serviceLogFile(folder)}.` },
  );
}
