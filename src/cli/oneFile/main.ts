import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { begin } from "../begin.ts";
import { cacheFolder } from "../cacheFolder.ts";
import type { Archive } from "./archive.ts";
import { unpack } from "./unpack.ts";

// The tool as one file (scripts/packageOneFile.ts): this program, and after it, as a comment, an archive of all others. It is
// neither a CommonJS nor an ES module in particular, so that it runs under any name and in any folder.
declare const PIPELINE_RUNS_VERSION: string;
declare const PIPELINE_RUNS_ARCHIVE: Archive;

begin(PIPELINE_RUNS_VERSION, () =>
  unpack(PIPELINE_RUNS_ARCHIVE, {
    file: typeof __filename === "string" ? __filename : (process.argv[1] ?? ""),
    places: places(process.env),
    now: Date.now(),
  }),
).catch(give);

/** Where it may unpack: the user's cache folder, or where there is none, a folder of the user's own among temporary ones. */
function places(env: NodeJS.ProcessEnv): string[] {
  const cache = cacheFolder(env, process.platform);
  if ((env["PIPELINE_CACHE_DIR"] ?? "") !== "") return cache === undefined ? [] : [cache];
  const temporary = resolve(tmpdir(), `pipeline-runs-${process.getuid?.() ?? "cache"}`);
  return cache === undefined ? [temporary] : [cache, temporary];
}

function give(error: unknown): void {
  process.stderr.write(`pipeline: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 4;
}
