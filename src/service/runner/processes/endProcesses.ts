import { setTimeout as pause } from "node:timers/promises";
import { removeScratch } from "../scratchFolder.ts";
import type { ProcessTable } from "./processTable.ts";
import { newTraces, type RunnerIdentity, type RunTraces } from "./processTable.ts";

/** What is to be ended, and how long it may take to end by itself. */
interface Ending {
  readonly processes: ProcessTable;
  readonly run: RunTraces;
  /** From the polite signal to the last one. 0 sends the last one at once. */
  readonly graceMilliseconds: number;
  /** The one process of the run that is left alone: the caller, where it is the runner. */
  readonly spare?: number;
  /** How long a list may fail where this system hasn't told of any process of the run; 10 s unless said. */
  readonly listingPatienceMilliseconds?: number | undefined;
}

/** The pauses between two looks, in milliseconds. */
const pauses = { shortest: 5, longest: 200 } as const;
/**
 * How often a process may refuse to be killed before it is left alone: it is another user's. More than once, since one
 * that was killed together with its cgroup, which needs no such right, takes a moment to be gone.
 */
const mostRefusals = 10;

/**
 * Ends a run's processes: SIGTERM to each, a grace time, then SIGKILL until none is left. What runs is looked up again
 * and again, because what is being ended may start more. Resolves when they are really gone, which is when a run gives
 * up its place (contract: "Limits"). A process of another user, which this one may not signal, is left alone.
 *
 * @throws when this system doesn't tell which processes the run has.
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
      if (processes.canTerminate) for (const pid of fresh) ask(pid);
      await pause(Math.min(wait, grace));
      continue;
    }
    processes.killAtOnce?.(run);
    for (const pid of living) {
      if (!isSignalled(pid, "SIGKILL")) refusals.set(pid, (refusals.get(pid) ?? 0) + 1);
    }
    // Something multiplies: whoever is faster wins.
    if (fresh.length > 0) wait = pauses.shortest;
    await pause(wait);
  }
}

/** One that is stopped is let go on: it can't end by itself otherwise. */
function ask(pid: number): void {
  isSignalled(pid, "SIGTERM");
  isSignalled(pid, "SIGCONT");
}

/** @returns whether the process may be signalled; one that has ended meanwhile counts as such. */
function isSignalled(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "EPERM");
  }
}

/** The listingPauses between two tries, in milliseconds. */
const listingPauses = { shortest: 50, longest: 2000 } as const;

/**
 * The ids of a run's living processes. A list can fail for a moment: no file to be had, a `ps` that couldn't be started.
 * That says nothing of the run, so it is asked again until it answers.
 *
 * @param patienceMilliseconds how long that goes on where this system hasn't told of any process of the run yet. Where
 *   it has, there is no bound: what was seen may live, and its run mustn't pass for ended.
 * @throws what the last try said, when this system has told nothing in that time.
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

/** A run that was in work when its service ended without notice. */
interface LeftRun {
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
