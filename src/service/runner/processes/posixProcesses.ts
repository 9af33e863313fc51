import {
  killGroups,
  listing,
  type ProcessEntry,
  type ProcessTable,
  type RunTraces,
  runMarker,
  withDescendants,
} from "./processTable.ts";

interface PosixEntry extends ProcessEntry {
  readonly group: number;
  /** The start's time to the second, in UTC: `Fri Nov 20 23:13:05 2026`. */
  readonly birth: string;
  readonly isLiving: boolean;
  readonly command: string;
}

interface PosixOptions {
  /** Whether `ps -E` puts a program's environment behind its arguments, as on macOS. */
  readonly showsEnvironment: boolean;
}

const columns = "pid=,ppid=,pgid=,lstart=,stat=,command=";

/**
 * Asks `ps`, which on macOS shows a program's environment behind its arguments where the system allows it. The groups
 * and what was seen before make up for the rest: a group's id isn't given to a new process while the group has a member.
 */
export class PosixProcesses implements ProcessTable {
  readonly canTerminate = true;
  readonly #words: readonly string[];

  constructor({ showsEnvironment }: PosixOptions) {
    this.#words = ["-A", ...(showsEnvironment ? ["-E"] : []), "-ww", "-o", columns];
  }

  async processesOf(run: RunTraces): Promise<readonly number[]> {
    const { text, pid } = await ps(this.#words);
    return selectFromPs(text, run).filter((found) => found !== pid);
  }

  async birthOf(pid: number): Promise<string | undefined> {
    // It fails where there is no such process.
    const found = await ps(["-p", String(pid), "-o", columns]).catch(() => undefined);
    return found?.text.split("\n").flatMap(parseLine)[0]?.birth;
  }

  /** A list takes `ps` some milliseconds, and `scanRepeatedly` rests fifty times as long after it. */
  async scan(run: RunTraces): Promise<void> {
    if (run.groups.size > 0 || run.seen.size > 0) await this.processesOf(run);
  }

  killAtOnce(run: RunTraces): void {
    killGroups(run.groups);
  }
}

/** Dates as they are written here whatever the user's language and time zone are. */
function ps(words: readonly string[]): ReturnType<typeof listing> {
  return listing("ps", words, { ...process.env, LC_ALL: "C", TZ: "UTC" });
}

/**
 * The run's living processes in what `ps -o pid=,ppid=,pgid=,lstart=,stat=,command=` wrote. Those found become the run's
 * `seen`; groups without a member leave its `groups`.
 */
export function selectFromPs(text: string, run: RunTraces): readonly number[] {
  const marker = `${runMarker}=${run.runId}`;
  const entries = text.split("\n").flatMap(parseLine);
  for (const group of run.groups) {
    if (!entries.some((entry) => entry.group === group)) run.groups.delete(group);
  }
  const living = entries.filter(({ isLiving }) => isLiving);
  const found = new Set(
    withDescendants(living, (entry) => {
      const seen = run.seen.get(entry.pid);
      return (
        run.groups.has(entry.group) ||
        (seen !== undefined && isSameBirth(seen, entry.birth)) ||
        entry.command.split(" ").includes(marker)
      );
    }),
  );
  run.seen.clear();
  for (const { pid, birth } of living) if (found.has(pid)) run.seen.set(pid, birth);
  return [...found];
}

/** A second apart is the same: some systems reckon the start from the time since, and round. */
function isSameBirth(one: string, other: string): boolean {
  return Math.abs(Date.parse(`${one} UTC`) - Date.parse(`${other} UTC`)) <= 1000;
}

function parseLine(line: string): PosixEntry[] {
  const pattern = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(\S+)\s+(.*)$/;
  const [, pid, parent, group, birth, state, command] = pattern.exec(line) ?? [];
  if (birth === undefined || state === undefined || command === undefined) return [];
  const isLiving = !state.startsWith("Z");
  return [{ pid: Number(pid), parent: Number(parent), group: Number(group), birth, isLiving, command }];
}
