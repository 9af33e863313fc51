import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  killGroups,
  type ProcessEntry,
  type ProcessTable,
  type RunTraces,
  runMarker,
  withDescendants,
} from "./processTable.ts";
import type { RunCgroups } from "./runCgroups.ts";

interface LinuxEntry extends ProcessEntry, Stat {}

/**
 * Reads `/proc`. A process id of ours may by now belong to a stranger, so an id alone never decides: the run's cgroup
 * does, or the marker, or the id together with the birth, or a group or session that has had a member of the run's ever
 * since the run began it.
 */
export class LinuxProcesses implements ProcessTable {
  readonly canTerminate = true;
  readonly cgroups: RunCgroups | undefined;
  readonly #folder: string;
  /** Tells apart two births at the same tick of two starts of the machine. */
  readonly #boot: string;

  /** @param cgroups undefined to do without. */
  constructor(folder: string, cgroups?: RunCgroups) {
    this.#folder = folder;
    this.#boot = ` ${readIfThere(join(folder, "sys/kernel/random/boot_id"))?.trim() ?? ""}`.trimEnd();
    this.cgroups = cgroups;
  }

  async processesOf(run: RunTraces): Promise<readonly number[]> {
    // First, and counted whatever the rest says: while this names nobody, nobody is in the cgroup.
    const enclosed = run.cgroup === undefined ? [] : (this.cgroups?.members(run.cgroup) ?? []);
    const entries = this.#look(run);
    const markers = await Promise.all(entries.map(({ pid }) => this.#markerOf(pid)));
    const marked = new Set(entries.flatMap(({ pid }, index) => (markers[index] === run.runId ? [pid] : [])));
    const inside = new Set(enclosed);
    const found = select(run, entries, ({ pid }) => marked.has(pid) || inside.has(pid));
    for (const { pid, birth } of found) run.seen.set(pid, birth);
    return [...new Set([...found.map(({ pid }) => pid), ...enclosed])];
  }

  async birthOf(pid: number): Promise<string | undefined> {
    return this.#entry(pid)?.birth;
  }

  killAtOnce(run: RunTraces): void {
    if (run.cgroup !== undefined) this.cgroups?.kill(run.cgroup);
    killGroups(run.groups);
  }

  scan(run: RunTraces): void {
    if (run.groups.size === 0 && run.seen.size === 0) return;
    const found = select(run, this.#look(run), () => false);
    run.seen.clear();
    for (const { pid, birth } of found) run.seen.set(pid, birth);
  }

  /** The living. Takes out of the run's groups those that have no member any more; the dead but not reaped are members. */
  #look(run: RunTraces): readonly LinuxEntry[] {
    const groups = [...run.groups];
    const first = this.#entries();
    const empty = groups.filter((id) => !first.some((entry) => isMember(entry, id)));
    if (empty.length === 0) return first.filter(isLiving);
    // A member that began another and ended, both between the listing and its turn to be read, hides the other once.
    const second = this.#entries();
    for (const id of empty) if (!second.some((entry) => isMember(entry, id))) run.groups.delete(id);
    return second.filter(isLiving);
  }

  /** Read at one go, and not in turns with other work: what is read late has changed meanwhile. */
  #entries(): readonly LinuxEntry[] {
    return readdirSync(this.#folder)
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => this.#entry(Number(name)) ?? []);
  }

  #entry(pid: number): LinuxEntry | undefined {
    const stat = parseStat(readIfThere(join(this.#folder, String(pid), "stat")));
    return stat === undefined ? undefined : { pid, ...stat, birth: `${stat.birth}${this.#boot}` };
  }

  async #markerOf(pid: number): Promise<string | undefined> {
    try {
      return markerIn(await readFile(join(this.#folder, String(pid), "environ"), "latin1"));
    } catch {
      // It has ended meanwhile, or is another user's.
      return undefined;
    }
  }
}

function select(
  run: RunTraces,
  entries: readonly LinuxEntry[],
  isMarked: (entry: LinuxEntry) => boolean,
): readonly LinuxEntry[] {
  const found = withDescendants(
    entries,
    (entry) =>
      isMarked(entry) ||
      run.seen.get(entry.pid) === entry.birth ||
      run.groups.has(entry.group) ||
      run.groups.has(entry.session),
  );
  const pids = new Set(found);
  return entries.filter(({ pid }) => pids.has(pid));
}

function isMember({ group, session }: LinuxEntry, id: number): boolean {
  return group === id || session === id;
}

function isLiving({ state }: LinuxEntry): boolean {
  return state !== "Z" && state !== "X";
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Ticks since the machine's start. */
  readonly birth: string;
}

/** The program's name stands in parentheses and may hold any character, so the fields are counted behind the last one. */
export function parseStat(text: string | undefined): Stat | undefined {
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  const birth = fields[19];
  if (state === undefined || birth === undefined) return undefined;
  return { state, parent: Number(parent), group: Number(group), session: Number(session), birth };
}

function markerIn(environment: string): string | undefined {
  const prefix = `${runMarker}=`;
  return environment
    .split("\0")
    .find((variable) => variable.startsWith(prefix))
    ?.slice(prefix.length);
}

/**
 * @returns undefined when the process has ended meanwhile, or is hidden.
 * @throws any other error: a process that only couldn't be read must not count as gone.
 */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ESRCH" || code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}
