import { endProcesses } from "./processes/endProcesses.ts";
import type { ProcessTable } from "./processes/processTable.ts";
import { newTraces } from "./processes/runTraces.ts";

/** A run that was in work when its service ended without notice. */
export interface LeftRun {
  readonly runId: string;
  /** `RunningJob.pid`, as it was kept; undefined when it isn't known. */
  readonly runnerPid: number | undefined;
}

/**
 * Ends what is left of a run whose service is gone, and resolves when nothing is. Part of a service's start: its runs
 * give up their places only after this. Usually nothing is left, since a runner ends its run when its service goes.
 */
export async function endLeftovers(
  run: LeftRun,
  deps: { readonly processes: ProcessTable; readonly graceMilliseconds: number },
): Promise<void> {
  const traces = newTraces(run.runId, run.runnerPid);
  await endProcesses({
    find: () => deps.processes.processesOf(traces),
    graceMilliseconds: deps.graceMilliseconds,
  });
}
