import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** Larger files are no text of ours: what VS Code itself is made of. */
const largest = 8 * 1024 * 1024;

/** The files in a folder, at any depth, that hold one of these secrets, but for those that are to hold it. */
export async function leaksIn(
  folder: string,
  secrets: readonly string[],
  but: (file: string) => boolean,
): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const leaks: string[] = [];
  for (const name of names) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() !== true || found.size > largest || but(file)) continue;
    const text = await readFile(file, "latin1").catch(() => "");
    if (secrets.some((secret) => text.includes(secret))) leaks.push(file);
  }
  return leaks;
}
