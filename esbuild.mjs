import { copyFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import manifest from "./package.json" with { type: "json" };
import { noteBundledPackages } from "./scripts/build/bundledPackages.mjs";
import { buildExtension } from "./scripts/build/extension.mjs";
import { buildOutputsSchema, buildPipelineSchema } from "./scripts/build/jsonSchema.mjs";
import { buildMcp } from "./scripts/build/mcp.mjs";
import { trimMysql } from "./scripts/build/mysql.mjs";
import { lazyNodeModules } from "./scripts/build/nodeModules.mjs";
import { buildNotices } from "./scripts/build/notices.mjs";
import { buildPlaywright, importPlaywright } from "./scripts/build/playwright.mjs";
import { buildTool } from "./scripts/build/tool.mjs";
import { buildUndici, importUndici } from "./scripts/build/undici.mjs";

const { values } = parseArgs({
  options: {
    outdir: { type: "string", default: "dist" },
    "for-package": { type: "boolean", default: false },
  },
});
const outdir = inFolder(resolve(values.outdir));
const bundled = noteBundledPackages();
const options = {
  target: "node22",
  minify: true,
  keepNames: true,
  define: { PIPELINE_RUNS_VERSION: JSON.stringify(manifest.version) },
  logLevel: "warning",
};
const moduleOptions = {
  ...options,
  outdir,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  metafile: true,
  // CommonJS libraries inside an ES module still ask for `require`; the banner gives it to them.
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
};

// One build for the service's programs, so that they share their chunks. The extension shares none: it is not in what is
// installed without an editor.
const programs = await build({
  ...moduleOptions,
  entryPoints: {
    service: "src/service/main.ts",
    runner: "src/runner/main.ts",
    parser: "src/team/parserThread.ts",
    playwright: "playwright-core",
  },
  plugins: [lazyNodeModules, importPlaywright, importUndici, trimMysql, bundled.plugin],
  chunkNames: "chunks/[name]-[hash]",
});
const tool = await buildTool(moduleOptions, bundled.plugin);
const extension = await buildExtension({ outdir, options, moduleOptions, noting: bundled.plugin });

// The page's script and style are for browsers, and are served as they lie there.
const page = await build({
  entryPoints: ["src/service/page/assets/page.ts", "src/service/page/assets/page.css"],
  outdir: `${outdir}/page`,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  minify: true,
  metafile: true,
  plugins: [bundled.plugin],
  logLevel: "warning",
});
const icon = `${outdir}/page/icon.svg`;
await copyFile("media/icon.svg", icon);

const made = new Set([
  ...Object.keys(programs.metafile.outputs),
  ...Object.keys(tool),
  ...Object.keys(extension),
  ...Object.keys(page.metafile.outputs),
  icon,
  ...(await buildPlaywright(outdir, bundled.plugin)),
  ...(await buildUndici(moduleOptions, bundled.plugin)),
  ...(await buildMcp(moduleOptions, bundled.plugin)),
  ...(await buildPipelineSchema(outdir)),
  ...(await buildOutputsSchema(outdir)),
  // The last, when every package has been noted.
  ...(await buildNotices(outdir, bundled.folders)),
]);

// What earlier builds made stays for a day, since a window or a service that runs from here may still load it; none of it is in
// a package.
const leftovers = `${outdir}/leftovers.json`;
const dayMilliseconds = 86_400_000;
const leftSince = await readFile(leftovers, "utf8").then(JSON.parse, () => ({}));
const kept = {};
for (const entry of await readdir(outdir, { recursive: true, withFileTypes: true })) {
  const file = inFolder(join(entry.parentPath, entry.name));
  if (!entry.isFile() || made.has(file) || file === leftovers) continue;
  const since = leftSince[file] ?? Date.now();
  if (values["for-package"] || Date.now() - since > dayMilliseconds) await rm(file);
  else kept[file] = since;
}
if (Object.keys(kept).length > 0) await writeFile(leftovers, JSON.stringify(kept));
else await rm(leftovers, { force: true });

/** A path as esbuild names its outputs. */
function inFolder(path) {
  return relative(".", path).replaceAll("\\", "/");
}
