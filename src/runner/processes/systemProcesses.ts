import { LinuxProcesses } from "./linuxProcesses.ts";
import { PosixProcesses } from "./posixProcesses.ts";
import type { ProcessTable } from "./processTable.ts";
import { RunCgroups } from "./runCgroups.ts";
import { WindowsProcesses } from "./windowsProcesses.ts";

/**
 * This system's process table. What each system finds:
 *
 * - Linux with cgroups: every process of the run, since none can leave its cgroup.
 * - Linux without them: every process that keeps the runner's limit on locks, which `prlimit` sets. Where that program is
 *   missing: a process that keeps its first environment and shows it, or its group, session or parent, or that a scan has
 *   seen while it did. One that drops all of these between two scans, 10 ms to 250 ms apart, is missed.
 * - macOS: the same, but scans are a second or more apart, and system programs hide their environment.
 * - Windows: descendants. A process whose parent exited before either was listed is missed.
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
