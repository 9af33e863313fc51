import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { PipelineError } from "../../contract/errors.ts";
import { systemClock } from "../clock.ts";
import { type Embedded, type FindDeps, findEmbedded } from "./findEmbedded.ts";
import { serviceLogFile } from "./serviceLog.ts";
import { type ServiceProgram, spawnService } from "./serviceProcess.ts";

export interface ConnectDeps extends FindDeps, Omit<ServiceProgram, "spawn"> {
  readonly spawn?: typeof spawn;
}

const answerWithinSeconds = 20;
const pollMilliseconds = 50;
/**
 * How long a starter whose service yielded looks for the other one before it starts another: that one may have been
 * ending. It doubles each time, since a machine that is slow to start one service is no faster at starting two.
 */
const retryMilliseconds = 2000;

/**
 * The embedded service of this machine, started when it isn't running. Any number of faces may do this at the same
 * time: whose service doesn't get the folder's lock goes on looking for the one that did.
 *
 * A service that was started goes on after an abort or an error here; it ends by itself when nobody uses it.
 *
 * @throws PipelineError `internal` with the service's last words when it ends before it answers; `out-of-reach` when
 * none answers within 20 s; the signal's reason.
 */
export async function connectEmbedded(deps: ConnectDeps, signal: AbortSignal): Promise<Embedded> {
  const running = await findEmbedded(deps, signal);
  if (running !== undefined) return running;

  const clock = deps.clock ?? systemClock;
  const program: ServiceProgram = { ...deps, spawn: deps.spawn ?? spawn };
  await makeFolder(deps.folder);
  const deadline = clock.monotonic() + answerWithinSeconds * 1000;
  for (let patience = retryMilliseconds; ; patience *= 2) {
    const stateOf = await spawnService(program);
    let yieldedAt: number | undefined;
    for (;;) {
      const state = await stateOf();
      const found = await findEmbedded(deps, signal);
      if (found !== undefined) return found;
      if (state.kind === "failed") throw state.error;
      const now = clock.monotonic();
      if (now >= deadline) throw silent(deps.folder);
      if (state.kind === "yielded") yieldedAt ??= now;
      if (yieldedAt !== undefined && now >= yieldedAt + patience) break;
      await clock.sleep(pollMilliseconds, signal);
    }
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PipelineError("internal", `The embedded service's folder can't be made: ${reason}.`, {
      cause,
      next: "Name another folder with PIPELINE_DATA_DIR.",
    });
  }
}

function silent(folder: string): PipelineError {
  return new PipelineError(
    "out-of-reach",
    `The embedded service did not answer within ${answerWithinSeconds} s.`,
    { next: `Its log is ${serviceLogFile(folder)}.` },
  );
}
