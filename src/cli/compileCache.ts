import { readdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { assertOwnParts, ownFolder } from "./ownFolder.ts";

/**
 * Lets Node keep what it has compiled of the tool between its starts, which takes a good part off each. Node runs what it
 * finds there, so it is kept where nobody else can write and nowhere else. Where there is no such folder, or this Node can't
 * do it, the tool starts as it does the first time.
 *
 * @param folder the tool's cache folder (see `cacheFolder`), absolute.
 */
export function keepCompiled(folder: string | undefined): void {
  // Node.js has it since 22.1.
  if (folder === undefined || typeof enableCompileCache !== "function") return;
  const mask = process.umask(0o077);
  try {
    const compiled = ownFolder(join(ownFolder(folder), "compiled"));
    // Node makes a folder in it for each version of itself.
    assertOwnParts(compiled, readdirSync(compiled));
    enableCompileCache(compiled);
  } catch {
    // Another's folder, or a file system that can't be written.
  } finally {
    process.umask(mask);
  }
}
