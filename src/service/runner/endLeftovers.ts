import { endProcesses } from "./processes/endProcesses.ts";
import type { ProcessTable } from "./processes/processTable.ts";
import { newTraces, type RunnerIdentity } from "./processes/runTraces.ts";
import { removeScratch } from "./scratchFolder.ts";

/** A run that was in work when its service ended without notice. */
export interface LeftRun {
  readonly runId: string;
  /** What `RunningJob.identity` told, as it was kept; undefined when it isn't known. */
  readonly runner: RunnerIdentity | undefined;
}

/**
 * Ends what is left of a run whose service is gone, and resolves when nothing is. Part of a service's start: its runs
 * give up their places only after this. Usually nothing is left, since a runner ends its run when its service goes.
 *
 * A process id alone says nothing by now: the runner and what descends from it are known by its id together with its
 * birth, the rest by the run's cgroup and by what its processes carry.
 */
export async function endLeftovers(
  { runId, runner }: LeftRun,
  deps: { readonly processes: ProcessTable; readonly graceMilliseconds: number },
): Promise<void> {
  const { processes, graceMilliseconds } = deps;
  const run = newTraces(runId, undefined, processes.cgroups?.find(runId));
  if (runner !== undefined) run.seen.set(runner.pid, runner.birth);
  await endProcesses({ processes, run, graceMilliseconds });
  if (run.cgroup !== undefined) await processes.cgroups?.remove(run.cgroup);
  await removeScratch(runId);
}
