import { readdir, readFile } from "node:fs/promises";

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
  const found = await Promise.all(names.map(read));
  return found.filter(
    ({ pid, environment }) =>
      pid !== process.pid &&
      Object.entries(variables).every(([name, value]) => environment.get(name) === value),
  );
}

async function read(name: string): Promise<FoundProcess> {
  // One that has ended meanwhile, or that is another user's, has none to be read.
  const [environment, words] = await Promise.all([
    listOf(`/proc/${name}/environ`),
    listOf(`/proc/${name}/cmdline`),
  ]);
  const variables = environment.map((line) => {
    const end = line.indexOf("=");
    return [line.slice(0, end), line.slice(end + 1)] as const;
  });
  return { pid: Number(name), words, environment: new Map(variables) };
}

async function listOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\0").filter((part) => part !== "");
}
