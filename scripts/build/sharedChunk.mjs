import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

/**
 * Puts what is shared into one chunk. esbuild makes one for each set of entries that share something, and whatever is imported when it
 * is needed is an entry: what comes first would open dozens of files, half a millisecond each. So each of those imports all that is shared first,
 * which is there by then.
 *
 * @param shared the files that are loaded before any of those entries.
 * @param later the paths of those entries.
 * @param contentsOf reads a file.
 */
export function sharedChunk(shared, later, contentsOf = (path) => readFile(path, "utf8")) {
  const imports = shared.map((file) => `import ${JSON.stringify(resolve(file))};`).join(" ");
  return {
    name: "shared-chunk",
    setup(main) {
      main.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) =>
        later.has(path) ? { contents: `${imports} ${await contentsOf(path)}`, loader: "ts" } : undefined,
      );
    },
  };
}
