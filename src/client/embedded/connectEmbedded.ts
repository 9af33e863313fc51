import type { spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { type Embedded, type FindDeps, findEmbedded } from "./findEmbedded.ts";
import type { Runtime } from "./findRuntime.ts";
import type { ServiceProgram } from "./serviceProcess.ts";
import { isOlder, ownVersion } from "./versions.ts";

export interface ConnectDeps extends FindDeps, Omit<ServiceProgram, "spawn"> {
  readonly spawn?: typeof spawn;
  /** The face's version, which is its service's too; the product's own when left out. */
  readonly version?: string | undefined;
  /** The runtime that the face is in; looked up when left out. */
  readonly own?: Runtime;
}

/** How long a service that is asked to leave may take to say whether it does. */
const handOverWithinSeconds = 2;

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

  const { startEmbedded } = await import("./startEmbedded.ts");
  return startEmbedded(deps, running?.connection, signal);
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
