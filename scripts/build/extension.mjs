import { readFile } from "node:fs/promises";
import { posix, relative, resolve } from "node:path";
import { build } from "esbuild";
import { lazyNodeModules } from "./nodeModules.mjs";
import { sharedChunk } from "./sharedChunk.mjs";

// Every window pays for the extension's entry. The first `import "vscode"` of an ES module has the editor write a module for
// this extension, with an export for each thing that its API has; a `require` hands over the object itself, from an ES module too.
// So the entry is CommonJS, as the editor's own loader is. The rest are ES modules with shared pieces, which it imports when
// something is wanted. A module that is in both is there twice: test/extension/chunks.test.ts holds which may be.
const entry = "src/extension/extension.ts";
/** What a window with pipelines loads for its status bar, and all else finds loaded. */
const shared = "src/extension/compose.ts";

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
  const restOptions = {
    ...moduleOptions,
    outdir,
    external: ["vscode"],
    // In one order: their files are named after what is in them, and that after the order of the entries.
    entryPoints: [...later].sort(),
    entryNames: "extension/[name]-[hash]",
    chunkNames: "extension/[name]-[hash]",
  };
  const { metafile: split } = await build({
    ...restOptions,
    write: false,
    plugins: [requiredApi, lazyNodeModules],
  });
  const first = inputsAtOnce(split, shared);
  const others = Object.values(split.outputs).flatMap(({ entryPoint }) =>
    entryPoint === undefined || first.has(entryPoint) ? [] : [resolve(entryPoint)],
  );
  const { metafile: rest } = await build({
    ...restOptions,
    write,
    plugins: [sharedChunk([shared], new Set(others), contentsOf), requiredApi, lazyNodeModules, noting],
  });
  const made = new Map(Object.entries(rest.outputs).map(([path, { entryPoint }]) => [entryPoint, path]));
  const linking = importedLater((file) => `./${posix.relative(outdir, made.get(file))}`);
  const { metafile: main } = await build({
    ...entryOptions,
    write,
    plugins: [requiredApi, linking, noting],
  });
  return { ...main.outputs, ...rest.outputs };
}

/** The files that come with `entryPoint`, itself among them. */
function inputsAtOnce({ outputs }, entryPoint) {
  const paths = Object.keys(outputs).filter((path) => outputs[path].entryPoint === entryPoint);
  // Also goes over what is added meanwhile.
  for (const path of paths) {
    for (const { path: other, kind } of outputs[path].imports) {
      if (kind === "import-statement" && other in outputs && !paths.includes(other)) paths.push(other);
    }
  }
  return new Set(paths.flatMap((path) => Object.keys(outputs[path].inputs)));
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
      contents: await contentsOf(path),
      loader: "ts",
    }));
    main.onResolve({ filter: /^vscode$/ }, ({ kind, importer }) =>
      kind === "require-call"
        ? undefined
        : { errors: [{ text: `Write it as \`import * as vscode from "vscode"\`: ${importer}` }] },
    );
  },
};

async function contentsOf(path) {
  const text = await readFile(path, "utf8");
  return text.replace(/^import \* as vscode from "vscode";$/m, 'const vscode = require("vscode");');
}
