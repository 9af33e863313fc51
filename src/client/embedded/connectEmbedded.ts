import { PipelineError } from "../../contract/errors.ts";
import { isStopped, ServiceStopped } from "../../machine/connectionFile.ts";
import { isOlder, ownVersion } from "../../machine/versions.ts";
import { type Embedded, findEmbedded } from "./findEmbedded.ts";
import type { ConnectDeps } from "./startEmbedded.ts";

/** The timeout of the hand-over request. */
const handOverWithinSeconds = 2;

/**
 * Connects to this machine's embedded service, starting it if it isn't running. Any number of faces may do so at once: a face
 * whose service doesn't get the folder's lock finds the one that did. A service older than this face is asked to hand over,
 * unless it has active runs; a newer one is used as it is.
 *
 * A service that was started survives an abort or an error here, and exits by itself when unused.
 *
 * @throws `ServiceStopped` if a person has stopped it, unless `deps.start` is `asked`; PipelineError `internal` with the
 * service's last output if it exits before it answers; `out-of-reach` if none answers within 20 s; the signal's reason.
 */
export async function connectEmbedded(deps: ConnectDeps, signal: AbortSignal): Promise<Embedded> {
  const running = await findEmbedded(deps, signal);
  const isLeaving = running !== undefined && (await agreesToLeave(running, deps, signal));
  if (running !== undefined && !isLeaving) return running;
  if (running === undefined && deps.start !== "asked" && isStopped(deps.folder)) throw new ServiceStopped();

  const { startEmbedded } = await import("./startEmbedded.ts");
  return startEmbedded(deps, running?.connection, signal);
}

/** Whether the service is older than this face and hands over at once. */
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
