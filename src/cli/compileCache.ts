import { mkdirSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";

/**
 * Lets Node keep what it has compiled of the tool between its starts, which takes a good part off each. It is kept in
 * the user's own cache folder and nowhere else: where others can write, they could put code of theirs. Where there is no such
 * folder, or this Node can't do it, the tool starts as it does the first time.
 *
 * @param folder the tool's cache folder (see `cacheFolder`), absolute.
 */
export function keepCompiled(folder: string | undefined): void {
  // `undefined` before Node.js 22.1.
  const { enableCompileCache }: { enableCompileCache?: typeof nodeModule.enableCompileCache } = nodeModule;
  if (folder === undefined || enableCompileCache === undefined) return;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    enableCompileCache(join(folder, "compiled"));
  } catch {
    // A file system that can't be written.
  }
}
