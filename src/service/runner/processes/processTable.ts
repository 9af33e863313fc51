import { spawn } from "node:child_process";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";
import type { RunCgroups } from "./runCgroups.ts";

/** The environment variable that every process of a run is born with, and by which Linux finds it wherever it went. */
export const runMarker = "PIPELINE_RUN_ID";

/** Finds and ends the processes of a run on this machine. */
export interface ProcessTable {
  /**
   * Whether a process can be asked to end (SIGTERM). On Windows it can't: there the grace time is for what ends by
   * itself when its pipe closes, as a browser does.
   */
  readonly canTerminate: boolean;
  /** The ids of every living process of the run, the runner's own among them. The dead but not yet reaped don't count. */
  processesOf(run: RunTraces): Promise<readonly number[]>;
  /** When a process was born; undefined when there is none of this id. Two of the same id differ in it. */
  birthOf(pid: number): Promise<string | undefined>;
  /**
   * Adds what lives now to the run's `seen`, and takes out of its `groups` those that are empty. Quick, and only where
   * it helps: a process that was seen once is found later, whatever ties it has cut by then.
   */
  scan?(run: RunTraces): void | Promise<void>;
  /**
   * Kills what the system can kill at one stroke, so that nothing of it can start anything more meanwhile. The caller is
   * spared. What this doesn't reach is left to be killed one by one.
   */
  killAtOnce?(run: RunTraces): void;
  /** Where the system has them. */
  readonly cgroups?: RunCgroups | undefined;
}

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

/** What a program that lists processes wrote, and its own id, because it lists itself too. */
interface Listing {
  readonly text: string;
  readonly pid: number | undefined;
}

/** @throws when the program can't be started, or fails: what it wrote then is no list, and must not pass for an empty one. */
export async function listing(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Listing> {
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

/** The entries that `isOurs` picks, and everything that descends from them. */
export function withDescendants<Entry extends ProcessEntry>(
  entries: readonly Entry[],
  isOurs: (entry: Entry) => boolean,
): readonly number[] {
  const children = Map.groupBy(entries, ({ parent }) => parent);
  const found = new Set<number>();
  const waiting = entries.filter(isOurs);
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (found.has(entry.pid)) continue;
    found.add(entry.pid);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return [...found];
}
