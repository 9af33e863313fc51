import { posix, relative, resolve } from "node:path";
import { build } from "esbuild";
import { lazyBuiltins, requiredBuiltins, requireInModule } from "./lazyBuiltins.mjs";

// The tool is what a script starts hundreds of times, so how long its programs take to load counts. It is CommonJS and one
// file for all its commands: Node finds and links that in half the time of twenty modules. What only `serve`, `keys` and
// `backup` need of the service is a file of its own beside it.
const program = "tool.cjs";
const service = "tool-service.cjs";
const errors = "src/contract/errors.ts";

/**
 * @param noting a plugin for each of its builds.
 * @returns the files that were made, as esbuild names its outputs.
 */
export async function buildTool(outdir, options, noting) {
  const pieces = new Set();
  const common = { ...options, bundle: true, format: "cjs", platform: "node", metafile: true };
  const tool = await build({
    ...common,
    stdin: { contents: exporting({ start: "src/cli/start.ts", errors }), resolveDir: "." },
    // Giving each function its name again would be a call for each, at every start.
    keepNames: false,
    outfile: posix.join(outdir, program),
    plugins: [leaveServiceOut(pieces), lazyBuiltins, noting],
  });
  const strays = Object.keys(tool.metafile.inputs).filter((file) => file.startsWith("src/service/"));
  if (strays.length > 0) throw new Error(`The tool loads the service without being asked to: ${strays}`);
  const parts = await build({
    ...common,
    stdin: {
      contents: exporting(Object.fromEntries([...pieces].map((file) => [file, file]))),
      resolveDir: ".",
    },
    outfile: posix.join(outdir, service),
    plugins: [shareErrors, noting],
  });
  const entry = await build({
    ...common,
    keepNames: false,
    entryPoints: ["src/cli/main.ts"],
    outfile: posix.join(outdir, "cli.js"),
    format: "esm",
    plugins: [requiredBuiltins, noting],
    banner: { js: requireInModule },
  });
  return [entry, tool, parts].flatMap(({ metafile }) => Object.keys(metafile.outputs));
}

/** A module that exports modules by name. */
function exporting(modules) {
  const entries = Object.entries(modules);
  return [
    ...entries.map(([, file], at) => `import * as m${at} from ${JSON.stringify(`./${file}`)};`),
    `export const modules = { ${entries.map(([name], at) => `${JSON.stringify(name)}: m${at}`)} };`,
  ].join("\n");
}

/** What the commands load of the service is in the other file. @param pieces gets what that has to hold. */
function leaveServiceOut(pieces) {
  return {
    name: "leave-service-out",
    setup(main) {
      main.onResolve({ filter: /\/service\// }, ({ path, resolveDir, kind }) => {
        if (kind !== "dynamic-import") return undefined;
        const file = relative(".", resolve(resolveDir, path)).replaceAll("\\", "/");
        pieces.add(file);
        return { path: file, namespace: "service" };
      });
      main.onLoad({ filter: /./, namespace: "service" }, ({ path }) => ({
        contents: handing(service, path),
      }));
      main.onResolve({ filter: /\.cjs$/, namespace: "service" }, ({ path }) => ({ path, external: true }));
    },
  };
}

/** An error that the service throws is one that the tool knows: both mean the same class. */
const shareErrors = {
  name: "share-errors",
  setup(main) {
    main.onResolve({ filter: /\/errors\.ts$/ }, ({ path, resolveDir }) =>
      relative(".", resolve(resolveDir, path)).replaceAll("\\", "/") === errors
        ? { path: "errors", namespace: "tool" }
        : undefined,
    );
    main.onLoad({ filter: /./, namespace: "tool" }, ({ path }) => ({ contents: handing(program, path) }));
    main.onResolve({ filter: /\.cjs$/, namespace: "tool" }, ({ path }) => ({ path, external: true }));
  },
};

function handing(file, name) {
  return `module.exports = require("./${file}").modules[${JSON.stringify(name)}];`;
}
