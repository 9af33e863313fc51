import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

/** How long a process that is about to end may take, in milliseconds. */
const patience = 10_000;

/**
 * The processes with a variable of a value in their environment, one line each; those that end within a moment don't
 * count. Only Linux lets others' environments be read: elsewhere there are none to be found.
 */
export async function processesMarked(variable: string, value: string): Promise<string[]> {
  for (let waited = 0; ; waited += 250) {
    const found = await findMarked(`${variable}=${value}`);
    if (found.length === 0 || waited >= patience) return found;
    await pause(250);
  }
}

async function findMarked(mark: string): Promise<string[]> {
  const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    ids.map(async (id) => {
      const environment = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
      if (!environment.split("\0").includes(mark)) return undefined;
      const command = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
      return `${id} ${command.replaceAll("\0", " ").trim()}`;
    }),
  );
  return lines.filter((line) => line !== undefined);
}
