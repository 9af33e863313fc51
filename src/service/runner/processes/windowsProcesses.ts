import { listing } from "./listing.ts";
import type { ProcessTable } from "./processTable.ts";
import type { RunTraces } from "./runTraces.ts";
import { withDescendants } from "./withDescendants.ts";

const query = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId)" }';

/**
 * Asks Windows for every process and its parent. A process keeps its parent's id after the parent has ended, so the
 * children of a dead runner are found; one whose parent was a step's program that has ended is not.
 */
export class WindowsProcesses implements ProcessTable {
  async processesOf(run: RunTraces): Promise<readonly number[]> {
    const { text, pid } = await listing("powershell.exe", [
      "-NoProfile",
      "-NonInteractive",
      "-Command",
      query,
    ]);
    return selectFromWindows(text, run).filter((found) => found !== pid);
  }
}

/** The run's processes in lines of `<process id> <parent's id>`. */
export function selectFromWindows(text: string, run: RunTraces): readonly number[] {
  const entries = text.split(/\r?\n/).flatMap((line) => {
    const [, pid, parent] = /^(\d+) (\d+)$/.exec(line.trim()) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
  const { runnerPid } = run;
  if (runnerPid === undefined) return [];
  return withDescendants(entries, ({ pid, parent }) => pid === runnerPid || parent === runnerPid);
}
