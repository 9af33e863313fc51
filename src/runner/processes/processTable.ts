import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";
import { codeOf } from "../../project/systemErrors.ts";
import type { RunCgroups } from "./runCgroups.ts";

/** The environment variable of every process of a run, by which Linux finds it. */
export const runMarker = "PIPELINE_RUN_ID";

/** Finds and ends the processes of a run on this machine. */
export interface ProcessTable {
  /**
   * Whether SIGTERM exists. On Windows it doesn't: there the grace time is for processes that end when their pipe
   * closes, such as a browser.
   */
  readonly canTerminate: boolean;
  /** The ids of the run's living processes, including the runner's. Zombies don't count. */
  processesOf(run: RunTraces): Promise<readonly number[]>;
  /** The start time of a process, which tells reused ids apart; undefined when there is no such process. */
  birthOf(pid: number): Promise<string | undefined>;
  /**
   * Updates the run's `seen` and removes empty `groups`. Only where it is cheap: a process that was seen once is found
   * later, even after it detached.
   */
  scan?(run: RunTraces): void | Promise<void>;
  /**
   * Kills all that the system can kill atomically, so that none can start more processes meanwhile; never the caller.
   * The rest has to be killed one by one.
   */
  killAtOnce?(run: RunTraces): void;
  /** Marks the caller, and all that it starts from then on, as processes of the run. For systems without cgroups. */
  mark?(runId: string): Promise<void>;
  /** Undefined where the system has none. */
  readonly cgroups?: RunCgroups | undefined;
}

export interface RunTraces {
  readonly runId: string;
  /** The runner's process, alive or not; undefined when it never started or isn't known. */
  readonly runnerPid: number | undefined;
  /** When its runner started, where that is known: no process of the run is older. */
  runnerBirth: string | undefined;
  /**
   * The process groups that the run started, which are sessions as well. Empty ones are removed soon, since the system
   * may reuse their ids.
   */
  readonly groups: Set<number>;
  /** Processes found before, with their start times, which tell reused ids apart. */
  readonly seen: Map<number, string>;
  /** The folder of the runner's cgroup, which contains all its processes; undefined where there is none. */
  cgroup: string | undefined;
}

/** The traces of a run whose processes haven't been listed yet. */
export function newTraces(
  runId: string,
  runnerPid: number | undefined,
  cgroup?: string,
  runnerBirth?: string,
): RunTraces {
  return { runId, runnerPid, runnerBirth, groups: new Set(), seen: new Map(), cgroup };
}

/** Kills each process group atomically, so that no member can start another process meanwhile. */
export function killGroups(groups: Iterable<number>): void {
  for (const group of groups) isSignalled(-group, "SIGKILL");
}

/** @returns false when the process may not be signalled; true also when it is gone. */
export function isSignalled(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    return codeOf(error) !== "EPERM";
  }
}

/**
 * The output of a program that lists processes, and its own id, since it lists itself.
 * @throws when the program can't be started or fails, since its output must not pass for an empty list.
 */
export async function listing(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "ignore"], windowsHide: true, env });
  const closed = once(child, "close");
  const [text, [code]] = await Promise.all([readText(child.stdout), closed]);
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}`);
  return { text, pid: child.pid };
}

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
}

export function withDescendants<Entry extends ProcessEntry>(
  entries: readonly Entry[],
  isOurs: (entry: Entry) => boolean,
): readonly Entry[] {
  const children = Map.groupBy(entries, ({ parent }) => parent);
  const found = new Set<Entry>();
  const waiting = entries.filter(isOurs);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry)) continue;
    found.add(entry);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return entries.filter((entry) => found.has(entry));
}
