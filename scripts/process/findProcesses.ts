import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

export interface FoundProcess {
  readonly pid: number;
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly environment: ReadonlyMap<string, string>;
}

/**
 * The other processes that were started with these variables. Only Linux lets their environments be read: elsewhere there
 * are none to be found.
 */
export async function findProcesses(variables: Readonly<Record<string, string>>): Promise<FoundProcess[]> {
  const names = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const wanted = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const found = await Promise.all(names.map((name) => read(name, wanted)));
  return found.filter((one) => one !== undefined);
}

async function read(name: string, wanted: readonly string[]): Promise<FoundProcess | undefined> {
  if (Number(name) === process.pid) return undefined;
  // One that has ended meanwhile, or that is another user's, has none to be read.
  const variables = await listOf(`/proc/${name}/environ`);
  if (!wanted.every((line) => variables.includes(line))) return undefined;
  const words = await listOf(`/proc/${name}/cmdline`);
  const pairs = variables.map((line) => {
    const end = line.indexOf("=");
    return [line.slice(0, end), line.slice(end + 1)] as const;
  });
  return { pid: Number(name), words, environment: new Map(pairs) };
}

async function listOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\0").filter((part) => part !== "");
}

/**
 * Ends the processes that were started with a variable of a value, but not those that end by themselves within a moment.
 * @param patience how long one that is about to end may take, in milliseconds.
 * @returns those that had to be ended and are gone, a line each: number, words and, where there is one, data folder.
 */
export async function endMarked(variable: string, value: string, patience = 10_000): Promise<string[]> {
  let ended: readonly FoundProcess[] = [];
  for (let waited = 0; ; waited += 250) {
    const found = await findProcesses({ [variable]: value });
    // Until they are gone, but not for ever: one that waits for a device can't be killed.
    if (found.length === 0 || waited >= patience + 10_000) break;
    if (waited >= patience) {
      if (ended.length === 0) ended = found;
      for (const { pid } of found) kill(pid);
    }
    await pause(250);
  }
  return ended.map(({ pid, words, environment }) => {
    const folder = environment.get("PIPELINE_DATA_DIR");
    return `${pid} ${words.join(" ")}${folder === undefined ? "" : ` of ${folder}`}`;
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
