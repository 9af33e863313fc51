import { readFile } from "node:fs/promises";
import { posix, relative, resolve } from "node:path";
import { build } from "esbuild";

// Every window pays for the extension's entry. The first `import "vscode"` of an ES module has the editor write a module for
// this extension, with an export for each thing that its API has; a `require` hands over the object itself, from an ES module too.
// So the entry is CommonJS, as the editor's own loader is. The rest are ES modules with shared pieces, which it imports when
// something is wanted. A module that is in both is there twice: test/extension/chunks.test.ts holds which may be.
const entry = "src/extension/extension.ts";

/**
 * @param options of every build.
 * @param moduleOptions of a build of ES modules, which have a `require`.
 * @param noting a plugin for each build whose output is kept.
 * @param write left out, or false to write nothing.
 * @returns what esbuild tells of each file that was made.
 */
export async function buildExtension({ outdir, options, moduleOptions, noting, write = true }) {
  const entryOptions = {
    ...options,
    // Giving each function its name again would be a call for each, in every window.
    keepNames: false,
    bundle: true,
    format: "cjs",
    platform: "node",
    metafile: true,
    external: ["vscode"],
    entryPoints: [entry],
    outfile: posix.join(outdir, "extension.cjs"),
  };
  const later = new Set();
  const finding = importedLater((file) => {
    later.add(file);
    return file;
  });
  await build({ ...entryOptions, write: false, plugins: [requiredApi, finding] });
  const { metafile: rest } = await build({
    ...moduleOptions,
    outdir,
    write,
    external: ["vscode"],
    entryPoints: [...later],
    entryNames: "extension/[name]-[hash]",
    chunkNames: "extension/[name]-[hash]",
    plugins: [requiredApi, noting],
  });
  const made = new Map(Object.entries(rest.outputs).map(([path, { entryPoint }]) => [entryPoint, path]));
  const linking = importedLater((file) => `./${posix.relative(outdir, made.get(file))}`);
  const { metafile: first } = await build({
    ...entryOptions,
    write,
    plugins: [requiredApi, linking, noting],
  });
  return { ...first.outputs, ...rest.outputs };
}

/** Leaves what is imported only when it is needed to the other build, under the address that `addressOf` gives. */
function importedLater(addressOf) {
  return {
    name: "imported-later",
    setup(main) {
      main.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
        if (kind !== "dynamic-import") return undefined;
        const file = relative(".", resolve(resolveDir, path)).replaceAll("\\", "/");
        return { path: addressOf(file), external: true };
      });
    },
  };
}

/** Gets the editor's API by `require`, and as it is: esbuild would make an object of getters of it for each module. */
const requiredApi = {
  name: "required-api",
  setup(main) {
    main.onLoad({ filter: /[\\/]src[\\/]extension[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(
        /^import \* as vscode from "vscode";$/m,
        'const vscode = require("vscode");',
      ),
      loader: "ts",
    }));
    main.onResolve({ filter: /^vscode$/ }, ({ kind, importer }) =>
      kind === "require-call"
        ? undefined
        : { errors: [{ text: `Write it as \`import * as vscode from "vscode"\`: ${importer}` }] },
    );
  },
};
