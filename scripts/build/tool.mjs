import { readFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { build } from "esbuild";
import { lazyNodeModules } from "./nodeModules.mjs";

/** What every command needs, and the two that scripts call most. */
const shared = ["start.ts", "commands/org.ts", "commands/listRuns.ts"].map((file) =>
  resolve("src/cli", file),
);

/**
 * Builds the tool: a thin entry, and chunks that it loads when a command needs them, also of the service for `serve`, `keys` and `backup`.
 * @param moduleOptions of a build of ES modules.
 * @param noting a plugin for each build whose output is kept.
 * @returns what esbuild tells of each file that was made.
 */
export async function buildTool(moduleOptions, noting) {
  const { metafile } = await build({
    ...moduleOptions,
    // Giving each function its name again would be a call for each, at every start.
    keepNames: false,
    entryPoints: { cli: "src/cli/main.ts" },
    chunkNames: "tool/[name]-[hash]",
    // Its CommonJS libraries ask for Node's own modules and for no other.
    banner: {
      js: 'const require = (id) => { const found = process.getBuiltinModule(id); if (found) return found; throw new Error("There is no " + id); };',
    },
    plugins: [lazyNodeModules, sharedChunk(), noting],
  });
  return metafile.outputs;
}

/**
 * Puts what is shared into one chunk. esbuild makes one for each set of entries that share something, and whatever is imported when it
 * is needed is an entry: a command would open fifty files, half a millisecond each. So each of those imports all that is shared first,
 * which is there by then.
 */
function sharedChunk() {
  const later = new Set();
  return {
    name: "shared-chunk",
    setup(main) {
      main.onResolve({ filter: /^\./ }, ({ path, kind, importer, resolveDir }) => {
        const isOfTool = /^src[\\/](?:cli|client)[\\/]/.test(relative(".", importer));
        if (kind === "dynamic-import" && isOfTool) later.add(resolve(resolveDir, path));
      });
      main.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        if (!later.has(path)) return undefined;
        const imports = shared.map((file) => `import ${JSON.stringify(file)};`);
        return { contents: `${imports.join(" ")} ${await readFile(path, "utf8")}`, loader: "ts" };
      });
    },
  };
}
