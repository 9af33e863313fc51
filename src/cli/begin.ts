import { writeSync } from "node:fs";
import { join } from "node:path";
import { loadCompiled } from "./compileCache.ts";
import { StandardStreams } from "./standardStreams.ts";

export interface Installed {
  /** The folder of the built programs. */
  readonly programs: string;
  /** The cache folder in use; see `cacheFolder`. */
  readonly cache: string | undefined;
}

/** What the build makes the core export. */
interface Core {
  readonly modules: { readonly "src/cli/start.ts": typeof import("./start.ts") };
}

/**
 * Begins the tool with as little as it takes. What is asked for most, by scripts and by editors, is the version: it needs
 * nothing else of the tool.
 *
 * @param find finds the built programs; called only when they are needed.
 */
export async function begin(version: string, find: () => Installed): Promise<void> {
  const [first, ...others] = process.argv.slice(2);
  const isVersion = others.length === 0 && (first === "--version" || first === "-V");
  if (isVersion && isWritten(`${version}\n`)) return;
  // A report that Node.js writes of a crash would hold the environment, and with it an API key.
  if (process.report) process.report.excludeEnv = true;
  // Before anything is written.
  const streams = new StandardStreams();
  if (isVersion) {
    streams.out.write(`${version}\n`);
    return;
  }
  // It was for this process; a browser that the tool opens may be made of the same parts as the editor.
  delete process.env["ELECTRON_RUN_AS_NODE"];
  const { programs, cache } = find();
  // The build puts the rest there (scripts/build/tool.mjs), to be loaded in the way that is fastest.
  const { modules } = loadCompiled(join(programs, "tool.cjs"), cache, first) as Core;
  process.once("beforeExit", exitUnfinished);
  await modules["src/cli/start.ts"].start(version, programs, streams);
  process.off("beforeExit", exitUnfinished);
}

/** Nothing is left to wait for, and yet the tool isn't done: nobody may take it for that. Node ends an ES module with the same code. */
function exitUnfinished(): void {
  process.exitCode ??= 13;
}

/**
 * Writes a short text to standard output without Node's stream for it, which takes longer to load than all else that is done here.
 * @returns false where that can't be done at once; the stream then does it, or tells why it can't be done at all.
 */
function isWritten(text: string): boolean {
  try {
    return writeSync(1, text) === text.length;
  } catch {
    return false;
  }
}
