import { LinuxProcesses } from "./linuxProcesses.ts";
import { PosixProcesses } from "./posixProcesses.ts";
import type { ProcessTable } from "./processTable.ts";
import { RunCgroups } from "./runCgroups.ts";
import { WindowsProcesses } from "./windowsProcesses.ts";

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
