import { readdirSync } from "node:fs";
import { createRequire, enableCompileCache } from "node:module";
import { join } from "node:path";
import { loadKept } from "./keptCode.ts";
import { assertOwnParts, ownFolder } from "./ownFolder.ts";

/**
 * Loads a program of the tool, and keeps what is compiled of it and of the files beside it between the tool's starts, which
 * takes a good part off each. What is found there is run, so it is kept where nobody else can write and nowhere else. Where
 * there is no such folder the tool starts as it does the first time, and also where a person declines it as Node lets them.
 *
 * @param folder the tool's cache folder (see `cacheFolder`), absolute.
 * @param word the first one of the command line.
 */
export function loadCompiled(program: string, folder: string | undefined, word: string | undefined): unknown {
  const isDeclined = (process.env["NODE_DISABLE_COMPILE_CACHE"] ?? "") !== "";
  const compiled = folder === undefined || isDeclined ? undefined : compiledFolder(folder);
  if (compiled === undefined) return createRequire(program)(program);
  const { versions, arch } = process;
  const kind = word !== undefined && calledOften.has(word) ? word : "other";
  let areKept = false;
  return loadKept({
    program,
    kept: join(compiled, `core-${kind}-${versions.v8}-${arch}`),
    beforeOthers: () => {
      if (!areKept) keepOthers(compiled);
      areKept = true;
    },
  });
}

/** What a call compiles is what its command needs. So that theirs is all there, these have it by themselves. */
const calledOften: ReadonlySet<string> = new Set(["org", "run", "runs"]);

function compiledFolder(folder: string): string | undefined {
  return masked(() => ownFolder(join(ownFolder(folder), "compiled")));
}

/** The other programs are larger and called more rarely: Node itself keeps of them what it compiles at once. */
function keepOthers(compiled: string): void {
  // Node.js has it since 22.1.
  if (typeof enableCompileCache !== "function") return;
  masked(() => {
    // Node makes a folder in it for each version of itself.
    assertOwnParts(compiled, readdirSync(compiled));
    enableCompileCache(compiled);
  });
}

/** @returns undefined for another's folder, and for a file system that can't be written. */
function masked<T>(make: () => T): T | undefined {
  const mask = process.umask(0o077);
  try {
    return make();
  } catch {
    return undefined;
  } finally {
    process.umask(mask);
  }
}
