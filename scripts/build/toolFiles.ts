import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";

/** The built files that are installed without an editor, by their paths below the folder, with `/`. */
export async function toolFiles(outdir: string): Promise<string[]> {
  const entries = await readdir(outdir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(outdir, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((file) => !/^extension[./]/.test(file))
    .sort();
}
