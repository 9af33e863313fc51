/** A runner's process. With its birth it isn't mistaken for a later process that was given the same id. */
export interface RunnerIdentity {
  readonly pid: number;
  /** As the machine's own `ProcessTable` writes it; for nothing but to be compared with another of its. */
  readonly birth: string;
}

/** How the processes of one run are known. */
export interface RunTraces {
  readonly runId: string;
  /** The runner's process, whether it still lives or not; undefined when it never started, or isn't known. */
  readonly runnerPid: number | undefined;
  /**
   * The ids of the process groups, which are sessions as well, that the run began. One that has no member left is to be
   * taken out soon: from then on its id may be given to a stranger.
   */
  readonly groups: Set<number>;
  /** Processes that were found before, with their births, which tell each from a later one of the same id. */
  readonly seen: Map<number, string>;
  /** The folder of the run's cgroup, which holds all that the run starts; undefined where there is none. */
  readonly cgroup: string | undefined;
}

/** What is known of a run of which no process has been seen yet. */
export function newTraces(runId: string, runnerPid: number | undefined, cgroup?: string): RunTraces {
  return { runId, runnerPid, groups: new Set(), seen: new Map(), cgroup };
}

/** Kills each process group in one stroke: a member that is just starting another dies before it has. */
export function killGroups(groups: Iterable<number>): void {
  for (const group of groups) {
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // It is empty, or another user's.
    }
  }
}
