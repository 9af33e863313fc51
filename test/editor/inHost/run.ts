// A program: builds the tests inside the extension host and runs them, in the VS Code from npm or a desktop one.
//   node test/editor/inHost/run.ts [--desktop <version>]
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { Problem } from "../../../scripts/problem.ts";
import { stopSignal } from "../../../scripts/process/stopSignal.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { runDesktop, runServed } from "./hosts.ts";
import { reportVariable } from "./report.ts";

const { values } = parseArgs({ options: { desktop: { type: "string" } } });
const signal = stopSignal();
try {
  await using data = await TemporaryFolder.make("pipeline-runs-data");
  await using workspace = await TemporaryFolder.make("pipeline-runs-workspace");
  await using made = await TemporaryFolder.make("pipeline-runs-report");
  await using _working = { [Symbol.asyncDispose]: () => endProcessesOf(data.path) };
  const report = join(made.path, "report");
  const suite = {
    module: await buildSuite(),
    folder: workspace.path,
    env: { PIPELINE_DATA_DIR: data.path, [reportVariable]: report },
  };
  const { exitCode, output } = await (values.desktop === undefined
    ? runServed(suite, signal)
    : runDesktop(suite, values.desktop));
  process.exitCode = exitCode;
  console.log(await readFile(report, "utf8").catch(() => `The tests did not start. ${output}`));
} catch (error) {
  console.error(error instanceof Problem ? error.message : error);
  process.exitCode = 1;
}

/**
 * Builds each test file for itself, and the module that runs them: VS Code loads JavaScript only. Packages are left outside:
 * the output stands where the root's own are found.
 * @returns the path of the module for `--extensionTestsPath`.
 */
async function buildSuite(): Promise<string> {
  const outdir = join(projectRoot, "dist-test/editor");
  await rm(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: import.meta.dirname,
    entryPoints: ["*.test.ts", "suite.ts"],
    outdir,
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
  return join(outdir, "suite.mjs");
}
