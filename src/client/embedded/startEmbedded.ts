import { spawn } from "node:child_process";
import { PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import type { Connection } from "../../machine/connectionFile.ts";
import { readConnection } from "../../machine/connectionFile.ts";
import { prepareDataFolder, serviceLogFile } from "../../machine/dataFolder.ts";
import { isStopped, ServiceStopped, setStopped } from "../../machine/stoppedFile.ts";
import { refuseOldNode } from "../../machine/versions.ts";
import { type Embedded, findEmbedded } from "./findEmbedded.ts";
import { type ConnectDeps, type ServiceProgram, spawnService } from "./serviceProcess.ts";

const answerWithinSeconds = 20;
const pollMilliseconds = 10;
/** How long a starter whose service yielded awaits the other one before it starts another. It doubles each time. */
const retryMilliseconds = 2000;

/**
 * Starts the embedded service and waits until one answers, this one or another face's. Loaded only when none runs.
 *
 * @param leaving the service that has agreed to leave for this one.
 * @throws as `connectEmbedded`.
 */
export async function startEmbedded(
  deps: ConnectDeps,
  leaving: Connection | undefined,
  signal: AbortSignal,
): Promise<Embedded> {
  // The service is run by what runs this.
  refuseOldNode();
  const clock = deps.clock ?? systemClock;
  const program: ServiceProgram = { ...deps, spawn: deps.spawn ?? spawn };
  await makeDataFolder(deps.folder);
  // Not by the service: one that was slow to begin would undo what was said after its start.
  if (deps.start === "asked") await setStopped(deps.folder, false);
  const deadline = clock.monotonic() + answerWithinSeconds * 1000;
  let isHeld = false;
  for (let patience = retryMilliseconds; ; patience *= 2) {
    const stateOf = await spawnService(program, leaving !== undefined);
    let yieldedAt: number | undefined;
    for (;;) {
      const state = await stateOf();
      const found = await findEmbedded(deps, signal);
      // The old one stays when a run was started meanwhile.
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The embedded service's folder can't be made: ${reason}.`, {
      cause,
      next: "Name another folder with PIPELINE_DATA_DIR.",
    });
  }
}

/** A folder that machines or containers share may be held where its port can't be reached, and the number names nothing here. */
const endHolder =
  "End that process and try again. If it runs in another container or on another machine, which shares the folder, name a folder of this one's own with PIPELINE_DATA_DIR.";

/** @param isHeld whether another service holds the folder, and so no other can begin. */
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
