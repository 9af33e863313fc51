import { listing } from "./listing.ts";
import { type ProcessTable, runMarker } from "./processTable.ts";
import type { RunTraces } from "./runTraces.ts";
import { type ProcessEntry, withDescendants } from "./withDescendants.ts";

interface PosixEntry extends ProcessEntry {
  readonly group: number;
  readonly command: string;
}

/**
 * Asks `ps`, which on macOS shows a program's environment behind its arguments where the system allows it. The groups
 * make up for the rest: a group's id isn't given to a new process while the group has a member.
 */
export class PosixProcesses implements ProcessTable {
  async processesOf(run: RunTraces): Promise<readonly number[]> {
    const { text, pid } = await listing("ps", ["-A", "-E", "-ww", "-o", "pid=,ppid=,pgid=,stat=,command="]);
    return selectFromPs(text, run).filter((found) => found !== pid);
  }
}

/** The run's processes in what `ps -o pid=,ppid=,pgid=,stat=,command=` wrote. */
export function selectFromPs(text: string, run: RunTraces): readonly number[] {
  const marker = `${runMarker}=${run.runId}`;
  const groups = new Set([...run.groups, ...(run.runnerPid === undefined ? [] : [run.runnerPid])]);
  return withDescendants(
    text.split("\n").flatMap(parseLine),
    (entry) => groups.has(entry.group) || entry.command.split(" ").includes(marker),
  );
}

function parseLine(line: string): PosixEntry[] {
  const [, pid, parent, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
  if (command === undefined || state === undefined || state.startsWith("Z")) return [];
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), command }];
}
