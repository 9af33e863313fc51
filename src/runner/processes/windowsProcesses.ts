import { windowsProgram } from "../../project/environment.ts";
import { listing, type ProcessEntry, type ProcessTable, type RunTraces } from "./processTable.ts";

interface WindowsEntry extends ProcessEntry {
  /** In 100 ns since 1601; 0 where the system hides it. */
  readonly birth: bigint;
  readonly name: string;
}

const query = [
  "Get-CimInstance Win32_Process | ForEach-Object {",
  "$birth = if ($_.CreationDate) { $_.CreationDate.ToFileTimeUtc() } else { 0 };",
  '"$($_.ProcessId) $($_.ParentProcessId) $birth $($_.Name)" }',
].join(" ");

/**
 * Asks Windows for every process, its parent and its birth. A process keeps its parent's id after the parent has ended
 * and the id was given to another, so births decide: a child is never older than its parent. One whose parent ended
 * before it was ever found is not found. A list takes PowerShell about half a second of processor time, so there is no
 * `scan` here.
 */
export class WindowsProcesses implements ProcessTable {
  readonly canTerminate = false;

  async processesOf(run: RunTraces): Promise<readonly number[]> {
    const { text, pid } = await list();
    return selectFromWindows(text, run, pid);
  }

  async birthOf(pid: number): Promise<string | undefined> {
    const { text } = await list();
    return parseList(text)
      .find((entry) => entry.pid === pid)
      ?.birth.toString();
  }
}

function list(): ReturnType<typeof listing> {
  return listing(windowsProgram("powershell.exe", process.env), [
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    query,
  ]);
}

/** Windows starts and ends one for each console, as a child of its user. Killing it would kill its users. */
const consoleHost = "conhost.exe";

/**
 * The run's processes in lines of `<process id> <parent's id> <birth> <name>`, parents before their children, so that no
 * parent is left to start anew what was just ended. Those found are added to the run's `seen`, by which the children of
 * processes that have ended are recognised.
 *
 * @param lister the process that wrote the list, which is not part of the run.
 */
export function selectFromWindows(
  text: string,
  run: RunTraces,
  lister: number | undefined,
): readonly number[] {
  const entries = parseList(text).toSorted((one, other) => Number(one.birth - other.birth));
  const known = knownBirths(entries, run);
  const found: number[] = [];
  const isOurs = (pid: number, birth: bigint): boolean => run.seen.get(pid) === birth.toString();
  const { runnerPid } = run;
  // As long as the runner's start time isn't known, the process with its id counts as the runner.
  const isNamelessRunner = (pid: number): boolean => pid === runnerPid && !run.seen.has(pid);
  // Parents come before their children, so one pass finds all.
  for (const { pid, parent, birth, name } of entries) {
    if (pid === lister || name.toLowerCase() === consoleHost) continue;
    const ofParent = known.get(parent)?.findLast((parents) => parents <= birth);
    const isChild =
      pid !== parent && (ofParent === undefined ? isNamelessRunner(parent) : isOurs(parent, ofParent));
    if (!isChild && !isOurs(pid, birth) && !isNamelessRunner(pid)) continue;
    found.push(pid);
    run.seen.set(pid, birth.toString());
  }
  return found;
}

/** The start times of the processes that have or had an id, in order: the run's, which comes first, and the current one. */
function knownBirths(entries: readonly WindowsEntry[], run: RunTraces): ReadonlyMap<number, bigint[]> {
  const known = new Map<number, bigint[]>([...run.seen].map(([pid, birth]) => [pid, [BigInt(birth)]]));
  for (const { pid, birth } of entries) known.set(pid, [...(known.get(pid) ?? []), birth]);
  return known;
}

function parseList(text: string): readonly WindowsEntry[] {
  return text.split(/\r?\n/).flatMap((line): WindowsEntry[] => {
    const [, pid, parent, birth, name] = /^(\d+) (\d+) (\d+) (.*)$/.exec(line.trim()) ?? [];
    if (birth === undefined || name === undefined) return [];
    return [{ pid: Number(pid), parent: Number(parent), birth: BigInt(birth), name }];
  });
}
