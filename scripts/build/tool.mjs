import { posix, relative, resolve } from "node:path";
import { build } from "esbuild";
import { lazyBuiltins, lazyPackage, usedOfBuiltins } from "./lazyBuiltins.mjs";

// The tool is what a script starts hundreds of times, so how long its programs take to load counts. They are CommonJS, and few:
// Node finds and links one such file in half the time of twenty modules. The core is what a call needs that asks a service
// something and tells the answer. All other commands and the parser of command lines are in the second file, and
// what only `serve`, `keys` and `backup` need of the service in the third.
const core = "tool.cjs";
const more = "tool-more.cjs";
const service = "tool-service.cjs";
const start = "src/cli/start.ts";
const errors = "src/contract/errors.ts";

/** What the core is made of, with all that these import at once; what they import later is elsewhere. */
const coreParts = [
  start,
  errors,
  "src/cli/commands/org.ts",
  "src/cli/commands/listRuns.ts",
  "src/client/http/loopbackFetch.ts",
  "src/client/serviceFor.ts",
];

/**
 * @param noting a plugin for each of its builds.
 * @returns the files that were made, as esbuild names its outputs.
 */
export async function buildTool(outdir, options, noting) {
  // Giving each function its name again would be a call for each, at every start.
  const common = {
    ...options,
    keepNames: false,
    bundle: true,
    format: "cjs",
    platform: "node",
    metafile: true,
  };
  // What it knows letters by takes a millisecond to make, and few calls ask how wide one is.
  const letters = lazyPackage("fast-string-truncated-width");
  const lazily = [lazyBuiltins("require"), usedOfBuiltins("require"), letters];
  const { inCore, late } = await partsOfCore({ ...common, plugins: lazily });
  const ofService = new Set();
  const ofCore = new Set([start, errors]);
  const second = await build({
    ...common,
    stdin: entry(late),
    outfile: posix.join(outdir, more),
    plugins: [
      elsewhere(core, "import", inCore, ofCore),
      elsewhere(service, "dynamic-import", isOfService, ofService),
      ...lazily,
      noting,
    ],
  });
  const first = await build({
    ...common,
    stdin: entry([...ofCore]),
    outfile: posix.join(outdir, core),
    plugins: [elsewhere(more, "dynamic-import", (file) => !inCore(file)), ...lazily, noting],
  });
  for (const { metafile } of [first, second]) {
    const strays = Object.keys(metafile.inputs).filter(isOfService);
    if (strays.length > 0) throw new Error(`The tool loads the service without being asked to: ${strays}`);
  }
  const third = await build({
    ...common,
    keepNames: true,
    stdin: entry([...ofService]),
    outfile: posix.join(outdir, service),
    // An error that the service throws is one that the tool knows: both mean the same class.
    plugins: [elsewhere(core, "import", (file) => file === errors), noting],
  });
  const program = await build({
    ...common,
    entryPoints: ["src/cli/main.ts"],
    outfile: posix.join(outdir, "cli.cjs"),
    plugins: [usedOfBuiltins("require"), noting],
  });
  return [program, first, second, third].flatMap(({ metafile }) => Object.keys(metafile.outputs));
}

/** What the core's parts bring with them at once, of our own, and what they ask for later that is none of it. */
async function partsOfCore(options) {
  const later = new Set();
  const { metafile } = await build({
    ...options,
    stdin: entry(coreParts),
    write: false,
    plugins: [elsewhere("later.cjs", "dynamic-import", () => true, later), ...options.plugins],
  });
  const parts = new Set(Object.keys(metafile.inputs).filter((file) => file.startsWith("src/")));
  return { inCore: (file) => parts.has(file), late: [...later].filter((file) => !parts.has(file)) };
}

function isOfService(file) {
  return file.startsWith("src/service/");
}

/** A module that exports modules by their paths; each begins when it is first asked for. */
function entry(files) {
  const getters = files.map(
    (file) => `get ${JSON.stringify(file)}() { return require(${JSON.stringify(`./${file}`)}); },`,
  );
  return { contents: `exports.modules = {\n${getters.join("\n")}\n};`, resolveDir: "." };
}

/**
 * Leaves modules of ours to another of the programs.
 * @param kind `dynamic-import` leaves only those that are imported when they are needed, `import` all.
 * @param found gets what the other one has to hold.
 */
function elsewhere(program, kind, isThere, found = new Set()) {
  const namespace = `in-${program}`;
  return {
    name: namespace,
    setup(main) {
      main.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind: asked }) => {
        if (kind === "dynamic-import" && asked !== kind) return undefined;
        // The entry's own files are what this program is asked for.
        if (asked === "require-call") return undefined;
        const file = relative(".", resolve(resolveDir, path)).replaceAll("\\", "/");
        if (!isThere(file)) return undefined;
        found.add(file);
        return { path: file, namespace };
      });
      main.onLoad({ filter: /./, namespace }, ({ path }) => ({
        contents: `module.exports = require("./${program}").modules[${JSON.stringify(path)}];`,
      }));
      main.onResolve({ filter: /\.cjs$/, namespace }, ({ path }) => ({ path, external: true }));
    },
  };
}
