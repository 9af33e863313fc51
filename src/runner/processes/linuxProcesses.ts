import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../project/systemErrors.ts";
import {
  killGroups,
  type ProcessEntry,
  type ProcessTable,
  type RunTraces,
  runMarker,
  withDescendants,
} from "./processTable.ts";
import type { RunCgroups } from "./runCgroups.ts";

interface LinuxEntry extends ProcessEntry, Stat {
  readonly birth: string;
  readonly isOurs: boolean;
}

type IsOurs = (entry: Omit<LinuxEntry, "isOurs">) => boolean;

/** The most rounds of reading processes that started while `/proc` was read: on a busy machine there may always be more. */
const mostRounds = 20;

/**
 * Reads `/proc`. Process ids are reused, so an id alone never decides: the run's cgroup does, or a mark, or the id with its
 * start time, or a group or session that has had a member ever since the run started it.
 */
export class LinuxProcesses implements ProcessTable {
  readonly canTerminate = true;
  readonly cgroups: RunCgroups | undefined;
  readonly #folder: string;
  /** The machine's boot id: start times are counted from the boot. */
  readonly #boot: string;

  /** @param cgroups undefined to work without cgroups. */
  constructor(folder: string, cgroups?: RunCgroups) {
    this.#folder = folder;
    this.#boot = ` ${readIfThere(join(folder, "sys/kernel/random/boot_id"))?.trim() ?? ""}`.trimEnd();
    this.cgroups = cgroups;
  }

  async processesOf(run: RunTraces): Promise<readonly number[]> {
    // Read first and always counted: the cgroup is empty only when this is.
    const enclosed = run.cgroup === undefined ? [] : (this.cgroups?.members(run.cgroup) ?? []);
    const inside = new Set(enclosed);
    const oldest = this.#ticksOf(run.runnerBirth);
    const found = this.#scan(
      run,
      ({ pid, ticks }) => inside.has(pid) || (ticks >= oldest && this.#isMarked(pid, run.runId)),
    );
    for (const { pid, birth } of found) run.seen.set(pid, birth);
    return [...new Set([...found.map(({ pid }) => pid), ...enclosed])];
  }

  async birthOf(pid: number): Promise<string | undefined> {
    return this.#entry(pid, () => false)?.birth;
  }

  killAtOnce(run: RunTraces): void {
    if (run.cgroup !== undefined) this.cgroups?.kill(run.cgroup);
    killGroups(run.groups);
  }

  async mark(runId: string): Promise<void> {
    const words = ["--pid", String(process.pid), `--locks=${locksOf(runId)}:`];
    try {
      await once(spawn("prlimit", words, { stdio: "ignore", timeout: 1000 }), "close");
    } catch {
      // Ignored: the program is missing, or may not set it. `spawn` throws at once where the PATH names a file.
    }
  }

  scan(run: RunTraces): void {
    if (run.groups.size === 0 && run.seen.size === 0) return;
    const found = this.#scan(run, () => false);
    run.seen.clear();
    for (const { pid, birth } of found) run.seen.set(pid, birth);
  }

  /** The living processes of the run. Removes groups without a member from its own; zombies are members. */
  #scan(run: RunTraces, isOurs: IsOurs): readonly LinuxEntry[] {
    const entries = this.#entries(isOurs);
    for (const id of run.groups)
      if (!entries.some(({ group, session }) => group === id || session === id)) run.groups.delete(id);
    return withDescendants(
      entries.filter(({ state }) => state !== "Z" && state !== "X"),
      ({ pid, birth, group, session, isOurs }) =>
        isOurs || run.seen.get(pid) === birth || run.groups.has(group) || run.groups.has(session),
    );
  }

  /**
   * Reads until nothing new is listed: a process that starts another and exits while the list is read would hide it.
   * Reads synchronously: entries read later would no longer fit together.
   */
  #entries(isOurs: IsOurs): readonly LinuxEntry[] {
    const read = new Map<string, LinuxEntry | undefined>();
    for (let round = 0; round < mostRounds; round += 1) {
      const fresh = readdirSync(this.#folder).filter((name) => /^\d+$/.test(name) && !read.has(name));
      if (fresh.length === 0) break;
      for (const name of fresh) read.set(name, this.#entry(Number(name), isOurs));
    }
    return [...read.values()].filter((entry) => entry !== undefined);
  }

  #entry(pid: number, isOurs: IsOurs): LinuxEntry | undefined {
    const stat = parseStat(readIfThere(join(this.#folder, String(pid), "stat")));
    if (stat === undefined) return undefined;
    const entry = { pid, ...stat, birth: `${stat.ticks}${this.#boot}` };
    // Asked at once: the process may be gone before the rest is read.
    return { ...entry, isOurs: isOurs(entry) };
  }

  /** A start time in clock ticks since this boot; 0 where it isn't known or is of another boot. */
  #ticksOf(birth: string | undefined): number {
    return birth?.endsWith(this.#boot) ? Number.parseInt(birth, 10) : 0;
  }

  /** Whether it has the run's marker, or the run's limit on locks: a process can hide its environment, but not its limits. */
  #isMarked(pid: number, runId: string): boolean {
    // Synchronous: in threads, these reads take six times as long.
    const read = (name: string) => readIfThere(join(this.#folder, String(pid), name)) ?? "";
    return (
      read("environ").split("\0").includes(`${runMarker}=${runId}`) ||
      Number(/^Max file locks +(\d+) /m.exec(read("limits"))?.[1]) === locksOf(runId)
    );
  }
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** When it started, in clock ticks since the boot. */
  readonly ticks: number;
}

/** The program's name is in parentheses and may contain any character, so fields are counted after the last one. */
export function parseStat(text: string | undefined): Stat | undefined {
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  const ticks = fields[19];
  if (state === undefined || ticks === undefined) return undefined;
  return {
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    ticks: Number(ticks),
  };
}

/**
 * The soft limit on file locks that the processes of a run have. Linux has kept and shown it since 2.4.25, without any effect
 * (getrlimit(2)).
 */
function locksOf(runId: string): number {
  return Number.parseInt(hash("sha256", runId).slice(0, 7), 16);
}

/**
 * @returns undefined when the process has exited or is hidden.
 * @throws any other error: a process that can't be read must not count as gone.
 */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}
