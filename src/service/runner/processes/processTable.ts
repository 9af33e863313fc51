import { LinuxProcesses } from "./linuxProcesses.ts";
import { PosixProcesses } from "./posixProcesses.ts";
import { WindowsProcesses } from "./windowsProcesses.ts";

/** The environment variable that every process of a run is born with, and by which Linux finds it wherever it went. */
export const runMarker = "PIPELINE_RUN_ID";

/** How the processes of one run are known. */
export interface RunTraces {
  readonly runId: string;
  /** The runner's process, whether it still lives or not; undefined when it never started. */
  readonly runnerPid: number | undefined;
  /** The process groups that its steps began. */
  readonly groups: readonly number[];
}

/** Finds the processes of a run on this machine. */
export interface ProcessTable {
  /** The ids of every living process of the run, the runner's own among them. The dead but not yet reaped don't count. */
  processesOf(run: RunTraces): Promise<readonly number[]>;
}

/**
 * What each system can tell: Linux reads every process's first environment, so a process is found even after it left
 * its parent, group and session. Elsewhere one that left all three is not found: macOS hides the environment of the
 * system's own programs, and Windows remembers only parents.
 */
export function processTable(platform: NodeJS.Platform): ProcessTable {
  switch (platform) {
    case "linux":
      return new LinuxProcesses("/proc");
    case "win32":
      return new WindowsProcesses();
    default:
      return new PosixProcesses();
  }
}
