import { LinuxProcesses } from "./linuxProcesses.ts";
import { PosixProcesses } from "./posixProcesses.ts";
import { RunCgroups } from "./runCgroups.ts";
import type { RunTraces } from "./runTraces.ts";
import { WindowsProcesses } from "./windowsProcesses.ts";

/** The environment variable that every process of a run is born with, and by which Linux finds it wherever it went. */
export const runMarker = "PIPELINE_RUN_ID";

/** Finds and ends the processes of a run on this machine. */
export interface ProcessTable {
  /**
   * Whether a process can be asked to end (SIGTERM). On Windows it can't: there the grace time is for what ends by
   * itself when its pipe closes, as a browser does.
   */
  readonly canAsk: boolean;
  /** The ids of every living process of the run, the runner's own among them. The dead but not yet reaped don't count. */
  processesOf(run: RunTraces): Promise<readonly number[]>;
  /** When a process was born; undefined when there is none of this id. Two of the same id differ in it. */
  birthOf(pid: number): Promise<string | undefined>;
  /**
   * Adds what lives now to the run's `seen`, and takes out of its `groups` those that are empty. Quick, and only where
   * it helps: a process that was seen once is found later, whatever ties it has cut by then.
   */
  glance?(run: RunTraces): void | Promise<void>;
  /**
   * Kills what the system can kill at one stroke, so that nothing of it can start anything more meanwhile. The caller is
   * spared. What this doesn't reach is left to be killed one by one.
   */
  killTogether?(run: RunTraces): void;
  /** Where the system has them. */
  readonly cgroups?: RunCgroups | undefined;
}

/**
 * What each system can tell. Linux puts a run into a cgroup of its own where it lets this user make one: whatever the
 * run starts is in it, however it cuts its ties. Where it doesn't, Linux reads every process's first environment, its
 * group, session and birth, so a process is found after it left its parent, group and session, and also after it cleared
 * its environment as long as one of the others ties it to the run, or a glance has seen it while one did. What cuts all
 * of them between two glances, which are 10 ms to 250 ms apart, is missed there. On macOS, where programs of the system
 * hide their environment, one that leaves group and parent is found by glances, a second or more apart. Windows
 * remembers only parents: one whose parent ended before the run did is not found.
 */
export function processTable(platform: NodeJS.Platform): ProcessTable {
  switch (platform) {
    case "linux":
      return new LinuxProcesses("/proc", new RunCgroups("/proc"));
    case "win32":
      return new WindowsProcesses();
    default:
      return new PosixProcesses({ showsEnvironment: platform === "darwin" });
  }
}
