import { setTimeout as pause } from "node:timers/promises";
import type { ProcessTable } from "./processTable.ts";
import type { RunTraces } from "./runTraces.ts";

/** The pauses between two tries, in milliseconds. */
const pauses = { shortest: 50, longest: 2000 } as const;

/**
 * The ids of a run's living processes. A list can fail for a moment: no file to be had, a `ps` that couldn't be started.
 * That says nothing of the run, so it is asked again until it answers.
 *
 * @param patienceMilliseconds how long that goes on where this system hasn't told of any process of the run yet. Where
 *   it has, there is no bound: what was seen may live, and its run mustn't pass for ended.
 * @throws what the last try said, when this system has told nothing in that time.
 */
export async function listPatiently(
  processes: ProcessTable,
  run: RunTraces,
  patienceMilliseconds: number,
): Promise<readonly number[]> {
  const deadline = performance.now() + patienceMilliseconds;
  for (let wait: number = pauses.shortest; ; wait = Math.min(wait * 2, pauses.longest)) {
    try {
      return await processes.processesOf(run);
    } catch (error) {
      if (run.seen.size === 0 && performance.now() >= deadline) throw error;
    }
    await pause(wait);
  }
}
