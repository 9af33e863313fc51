import { glob, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { projectRoot } from "../../../scripts/projectRoot.ts";

const outputFolder = join(projectRoot, "dist-test/editor");

/**
 * Builds the tests that run inside an extension host, each file for itself, and the module that runs them.
 * VS Code loads JavaScript only. Packages are left outside: the output stands where the root's own are found.
 * @param testFiles a glob, absolute or from the root of the repository.
 * @returns the path of the module for `--extensionTestsPath`.
 */
export async function buildSuite(testFiles: string): Promise<string> {
  const files: string[] = [];
  for await (const file of glob(testFiles, { cwd: projectRoot })) files.push(file);
  if (files.length === 0) throw new Error(`No test file matches ${testFiles}`);
  await rm(outputFolder, { recursive: true, force: true });
  await build({
    absWorkingDir: projectRoot,
    entryPoints: {
      ...Object.fromEntries(
        files
          .sort()
          .map((file, at) => [`tests/${String(at).padStart(2, "0")}-${basename(file, ".ts")}`, file]),
      ),
      suite: join(import.meta.dirname, "suite.ts"),
    },
    outdir: outputFolder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    packages: "external",
    sourcemap: "inline",
    logLevel: "warning",
  });
  return join(outputFolder, "suite.mjs");
}
