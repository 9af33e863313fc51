import { PipelineError } from "../../contract/errors.ts";
import type { ServiceState } from "../../contract/service.ts";
import { setStopped } from "../../machine/connectionFile.ts";
import { prepareDataFolder } from "../../machine/dataFolder.ts";
import { AbsentEndpoint } from "../service/replyErrors.ts";
import { type Embedded, type FindDeps, findEmbedded } from "./findEmbedded.ts";
import { type ConnectDeps, startEmbedded } from "./startEmbedded.ts";

export interface Ended {
  readonly was: Embedded;
  readonly state: ServiceState;
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

async function end(was: Embedded, signal: AbortSignal): Promise<Ended> {
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
