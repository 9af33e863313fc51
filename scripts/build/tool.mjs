import { resolve } from "node:path";
import { build } from "esbuild";
import { importMcp } from "./mcp.mjs";
import { lazyNodeModules } from "./nodeModules.mjs";
import { sharedChunk } from "./sharedChunk.mjs";
import { importUndici } from "./undici.mjs";

const entry = "src/cli/main.ts";
/** What every command needs, and the two that scripts call most. */
const shared = ["src/cli/start.ts", "src/cli/commands/org.ts", "src/cli/runs/listRuns.ts"];

/**
 * Builds the tool: a thin entry, and chunks that it loads when a command needs them, also of the service for `serve`, `keys` and `backup`.
 * It shares no chunks with the service's own programs: a build of both would split into so many that each command starts 10 ms later.
 * @param moduleOptions of a build of ES modules.
 * @param noting a plugin for each build whose output is kept.
 * @returns what esbuild tells of each file that was made.
 */
export async function buildTool(moduleOptions, noting) {
  const options = {
    ...moduleOptions,
    // Giving each function its name again would be a call for each, at every start.
    keepNames: false,
    entryPoints: { cli: entry },
    chunkNames: "tool/[name]-[hash]",
    // Its CommonJS libraries ask for Node's own modules and for no other.
    banner: {
      js: 'const require = (id) => { const found = process.getBuiltinModule(id); if (found) return found; throw new Error("There is no " + id); };',
    },
  };
  const { metafile: split } = await build({
    ...options,
    write: false,
    plugins: [lazyNodeModules, importUndici, importMcp],
  });
  const later = Object.values(split.outputs).flatMap(({ entryPoint = entry }) =>
    entryPoint === entry ? [] : [resolve(entryPoint)],
  );
  const { metafile } = await build({
    ...options,
    plugins: [lazyNodeModules, importUndici, importMcp, sharedChunk(shared, new Set(later)), noting],
  });
  return metafile.outputs;
}
