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
  /** The start time in UTC, to the second: `Fri Nov 20 23:13:05 2026`. */
  readonly birth: string;
  readonly isLiving: boolean;
  readonly command: string;
}

interface PosixOptions {
  /** Whether `ps -E` appends a program's environment to its arguments, as on macOS. */
  readonly showsEnvironment: boolean;
}

const columns = "pid=,ppid=,pgid=,lstart=,stat=,command=";

/**
 * Uses `ps`, which on macOS shows most programs' environment. Other processes are found by their group, whose id isn't
 * reused while it has a member, and by having been seen before.
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
    // `ps` fails when there is no such process.
    const found = await ps(["-p", String(pid), "-o", columns]).catch(() => undefined);
    return found?.text.split("\n").flatMap(parseLine)[0]?.birth;
  }

  /** Cheap enough: `scanRepeatedly` pauses fifty times as long as `ps` takes. */
  async scan(run: RunTraces): Promise<void> {
    if (run.groups.size > 0 || run.seen.size > 0) await this.processesOf(run);
  }

  killAtOnce(run: RunTraces): void {
    killGroups(run.groups);
  }
}

/** The locale and time zone are fixed, so that dates can be parsed. */
function ps(words: readonly string[]): ReturnType<typeof listing> {
  return listing("ps", words, { ...process.env, LC_ALL: "C", TZ: "UTC" });
}

/**
 * The run's living processes in the output of `ps -o pid=,ppid=,pgid=,lstart=,stat=,command=`. Replaces the run's `seen`,
 * and removes groups without a member.
 */
export function selectFromPs(text: string, run: RunTraces): readonly number[] {
  const marker = `${runMarker}=${run.runId}`;
  const entries = text.split("\n").flatMap(parseLine);
  for (const group of run.groups) {
    if (!entries.some((entry) => entry.group === group)) run.groups.delete(group);
  }
  const living = entries.filter(({ isLiving }) => isLiving);
  const found = withDescendants(living, ({ pid, group, birth, command }) => {
    const seen = run.seen.get(pid);
    return (
      run.groups.has(group) ||
      (seen !== undefined && isSameBirth(seen, birth)) ||
      command.split(" ").includes(marker)
    );
  });
  run.seen.clear();
  for (const { pid, birth } of found) run.seen.set(pid, birth);
  return found.map(({ pid }) => pid);
}

/** One second apart counts as equal: some systems compute the start from the elapsed time, rounded. */
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
