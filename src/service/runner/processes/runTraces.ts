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
}

/** What is known of a run of which no process has been seen yet. */
export function newTraces(runId: string, runnerPid: number | undefined): RunTraces {
  return { runId, runnerPid, groups: new Set(), seen: new Map() };
}
