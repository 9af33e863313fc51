import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { posix } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { build } from "esbuild";
import { type Archive, archiveMark } from "../../src/cli/oneFile/archive.ts";
import { lazyBuiltins, usedOfBuiltins } from "./lazyBuiltins.mjs";
import { toolFiles } from "./toolFiles.ts";

/**
 * Writes the tool as one file from what the build has made. @returns its path.
 * @param outdir the folder of the built programs.
 */
export async function buildOneFile(outdir: string, folder: string, version: string): Promise<string> {
  const contents = new Map<string, Buffer>();
  // Beside the programs there is no package that would say so.
  contents.set("package.json", Buffer.from(`${JSON.stringify({ type: "module" })}\n`));
  contents.set("LICENSE", await readFile("LICENSE"));
  for (const file of await toolFiles(outdir)) contents.set(file, await readFile(posix.join(outdir, file)));
  const whole = Buffer.concat([...contents.values()]);
  const archive: Archive = {
    version,
    sha256: createHash("sha256").update(whole).digest("hex"),
    files: [...contents].map(([path, { length }]) => [path, length]),
  };
  const compressed = await promisify(brotliCompress)(whole, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_LGWIN]: 24 },
  });
  const { outputFiles } = await build({
    entryPoints: ["src/cli/oneFile/main.ts"],
    bundle: true,
    write: false,
    format: "iife",
    platform: "node",
    target: "node20",
    minify: true,
    define: {
      PIPELINE_RUNS_VERSION: JSON.stringify(version),
      PIPELINE_RUNS_ARCHIVE: JSON.stringify(archive),
    },
    plugins: [lazyBuiltins(load), usedOfBuiltins(load)],
    banner: { js: `#!/usr/bin/env node\n${isTooOld}` },
    logLevel: "warning",
  });
  const path = posix.join(folder, "pipeline.cjs");
  await mkdir(folder, { recursive: true });
  await rm(path, { force: true });
  await writeFile(path, `${outputFiles[0]?.text}${archiveMark}${compressed.toString("base64")}*/\n`);
  await chmod(path, 0o755);
  return path;
}

const isTooOld =
  'process.getBuiltinModule||(console.error("pipeline: this needs Node.js 22.19 or later, and this is "+process.versions.node+"."),process.exit(4));';

/** `require` is missing in an ES module and `import` in a CommonJS one; this is in both. */
const load = "process.getBuiltinModule";
