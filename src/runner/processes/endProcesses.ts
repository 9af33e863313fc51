import { setTimeout as pause } from "node:timers/promises";
import { isSignalled, newTraces, type ProcessTable, type RunTraces } from "./processTable.ts";
import type { RunnerIdentity } from "./runCgroups.ts";
import { removeScratch } from "./scratchFolder.ts";

interface Ending {
  readonly processes: ProcessTable;
  readonly run: RunTraces;
  /** From SIGTERM to SIGKILL. With 0, SIGKILL is sent at once. */
  readonly graceMilliseconds: number;
  /** The process that is not ended: the runner, when it calls this itself. */
  readonly spare?: number;
  /** How long listing may fail before any process of the run was listed; 10 s by default. */
  readonly listingPatienceMilliseconds?: number | undefined;
}

/** The pauses between two lists, in milliseconds. */
const pauses = { shortest: 5, longest: 200 } as const;
/**
 * How often killing a process may fail before it is left alone, as another user's. More than once: a process killed with
 * its cgroup, which needs no permission, takes a moment to exit.
 */
const mostRefusals = 10;

/**
 * Ends a run's processes: SIGTERM to each, a grace time, then SIGKILL until none is left. They are listed again and
 * again, since they may start more. Resolves when all are gone, which is when the run releases its slot (contract:
 * "Limits"). Processes of other users can't be signalled and are left alone.
 *
 * @throws when the run's processes can't be listed.
 */
export async function endProcesses({
  processes,
  run,
  graceMilliseconds,
  spare,
  listingPatienceMilliseconds = 10_000,
}: Ending): Promise<void> {
  const deadline = performance.now() + graceMilliseconds;
  const known = new Set<number>();
  const refusals = new Map<number, number>();
  for (let wait: number = pauses.shortest; ; wait = Math.min(wait * 1.5, pauses.longest)) {
    const found = await listPatiently(processes, run, listingPatienceMilliseconds);
    const living = found.filter((pid) => pid !== spare && (refusals.get(pid) ?? 0) < mostRefusals);
    if (living.length === 0) return;
    const fresh = living.filter((pid) => !known.has(pid));
    for (const pid of fresh) known.add(pid);
    const grace = deadline - performance.now();
    if (grace > 0) {
      if (processes.canTerminate) for (const pid of fresh) terminate(pid);
      await pause(Math.min(wait, grace));
      continue;
    }
    processes.killAtOnce?.(run);
    for (const pid of living) {
      if (!isSignalled(pid, "SIGKILL")) refusals.set(pid, (refusals.get(pid) ?? 0) + 1);
    }
    // New processes appear: list them again soon.
    if (fresh.length > 0) wait = pauses.shortest;
    await pause(wait);
  }
}

/**
 * Ends the programs of one step, while the run goes on: SIGTERM to the group of each, and SIGKILL to those that are left after the
 * grace time.
 * @param settled aborted when the step has ended: after that another process may have the id.
 */
export async function endPrograms(
  pids: readonly number[],
  graceMilliseconds: number,
  settled: AbortSignal,
): Promise<void> {
  for (const pid of pids) terminate(groupOf(pid));
  try {
    await pause(graceMilliseconds, undefined, { signal: settled });
    for (const pid of pids) killProgram(pid);
  } catch {
    // Ignored: the step has ended.
  }
}

/** Kills a program with its group. */
export function killProgram(pid: number): void {
  isSignalled(groupOf(pid), "SIGKILL");
}

/** As `process.kill` takes it. On Windows there are no groups. */
function groupOf(pid: number): number {
  return process.platform === "win32" ? pid : -pid;
}

/** Sends SIGCONT too, since a suspended process can't handle SIGTERM. */
function terminate(pid: number): void {
  isSignalled(pid, "SIGTERM");
  isSignalled(pid, "SIGCONT");
}

/** The pauses between two attempts to list, in milliseconds. */
const listingPauses = { shortest: 50, longest: 2000 } as const;

/**
 * The ids of a run's living processes. Listing can fail for a while, for lack of a file descriptor or of a process for
 * `ps`, and is repeated then.
 *
 * @param patienceMilliseconds how long it is repeated before any process of the run was listed. After that there is no
 *   limit: a process that was listed may live, and its run must not count as ended.
 * @throws the last error, after that time.
 */
async function listPatiently(
  processes: ProcessTable,
  run: RunTraces,
  patienceMilliseconds: number,
): Promise<readonly number[]> {
  const deadline = performance.now() + patienceMilliseconds;
  for (let wait: number = listingPauses.shortest; ; wait = Math.min(wait * 2, listingPauses.longest)) {
    try {
      return await processes.processesOf(run);
    } catch (error) {
      if (run.seen.size === 0 && performance.now() >= deadline) throw error;
    }
    await pause(wait);
  }
}

/**
 * Ends the processes of a run whose service is gone, and resolves when none is left. Runs at a service's start, before
 * the run's slot is released. Usually none is left, since a runner ends its run when its service goes.
 *
 * Process ids may have been reused: the runner is recognised by its id and start time, other processes by the run's
 * cgroup and marker.
 * @param run its runner is the stored `RunningJob.identity`; undefined when it isn't known.
 */
export async function endLeftovers(
  { runId, runner }: { readonly runId: string; readonly runner: RunnerIdentity | undefined },
  deps: { readonly processes: ProcessTable; readonly graceMilliseconds: number },
): Promise<void> {
  const { processes, graceMilliseconds } = deps;
  const run = newTraces(runId, undefined, runner && processes.cgroups?.find(runner), runner?.birth);
  if (runner !== undefined) run.seen.set(runner.pid, runner.birth);
  await endProcesses({ processes, run, graceMilliseconds });
  if (run.cgroup !== undefined) await processes.cgroups?.remove(run.cgroup);
  await removeScratch(runId);
}
