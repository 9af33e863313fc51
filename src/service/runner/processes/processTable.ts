import { LinuxProcesses } from "./linuxProcesses.ts";
import { PosixProcesses } from "./posixProcesses.ts";
import type { RunTraces } from "./runTraces.ts";
import { WindowsProcesses } from "./windowsProcesses.ts";

/** The environment variable that every process of a run is born with, and by which Linux finds it wherever it went. */
export const runMarker = "PIPELINE_RUN_ID";

/** Finds the processes of a run on this machine. */
export interface ProcessTable {
  /** The ids of every living process of the run, the runner's own among them. The dead but not yet reaped don't count. */
  processesOf(run: RunTraces): Promise<readonly number[]>;
  /**
   * Adds what lives now to the run's `seen`, and takes out of its `groups` those that are empty. Quick, and only where
   * it helps: a process that was seen once is found later, whatever ties it has cut by then.
   */
  glance?(run: RunTraces): void;
}

/**
 * What each system can tell: Linux reads every process's first environment, its group, session and birth, so a process
 * is found after it left its parent, group and session, and also after it cleared its environment as long as one of the
 * others ties it to the run, or a glance has seen it while one did. What cuts all of them between two glances, which
 * are 10 ms to 250 ms apart, is missed there. Elsewhere one that left parent, group and session is not found: macOS
 * hides the environment of the system's own programs, and Windows remembers only parents.
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
