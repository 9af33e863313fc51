// A program: builds the tests inside the extension host and runs them, in the VS Code from npm or a desktop one.
//   node test/editor/inHost/run.ts [--desktop <version>]
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { aborted, format, parseArgs } from "node:util";
import { build } from "esbuild";
import { quietSettings, writeFirstSettings } from "../../../scripts/editor/serverFolders.ts";
import { Problem } from "../../../scripts/problem.ts";
import { stopSignal } from "../../../scripts/process/stopSignal.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { anySignal } from "../../../src/machine/anySignal.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { servedEditor } from "../served/servedEditor.ts";
import { reportVariable } from "./report.ts";

const patienceMilliseconds = 540_000;

const { values } = parseArgs({ options: { desktop: { type: "string" } } });
const signal = stopSignal();
try {
  await using data = await TemporaryFolder.make("pipeline-runs-data");
  await using workspace = await TemporaryFolder.make("pipeline-runs-workspace");
  await using made = await TemporaryFolder.make("pipeline-runs-report");
  await using _working = { [Symbol.asyncDispose]: () => endProcessesOf(data.path) };
  const report = join(made.path, "report");
  const workspaceFile = join(made.path, "tests.code-workspace");
  await writeFile(workspaceFile, JSON.stringify({ folders: [{ path: workspace.path }] }));
  const suite = {
    module: await buildSuite(),
    workspaceFile,
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

/** What a run of tests inside an extension host needs, whichever VS Code it is. */
interface Suite {
  /** For `--extensionTestsPath`. */
  readonly module: string;
  /** A file of a workspace with one folder, so that tests can add others without a new extension host. */
  readonly workspaceFile: string;
  /** Changes to the environment of the extension host. */
  readonly env: Readonly<Record<string, string>>;
}

interface Outcome {
  /** 0 when every test passed. */
  readonly exitCode: number;
  /** What VS Code wrote, as far as it is known here. */
  readonly output: string;
}

/** Runs a suite inside the extension host of the VS Code from npm, with the extension as it lies built in the checkout. */
async function runServed({ module, workspaceFile, env }: Suite, signal: AbortSignal): Promise<Outcome> {
  await using editor = await servedEditor({ env, smoke: true }, signal);
  const { page, server, folder } = editor;
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const written: string[] = [];
  // VS Code in a browser calls these two where a desktop one would exit and write to its output.
  await page.exposeFunction("codeAutomationExit", (exitCode: number) => end(exitCode));
  await page.exposeFunction("codeAutomationLog", (kind: string, line: unknown[] = []) => {
    written.push(`${kind}: ${format(...line)}`);
  });
  // What a desktop VS Code reads from its command line.
  const remote = (path: string) => `vscode-remote://127.0.0.1:${server.port}${pathToFileURL(path).pathname}`;
  const payload = JSON.stringify([
    ["extensionDevelopmentPath", remote(projectRoot)],
    ["extensionTestsPath", remote(module)],
    ["skipWelcome", "true"],
    ["skipReleaseNotes", "true"],
  ]);
  await page.goto(server.address(folder, { workspace: workspaceFile, payload }));
  const patience = anySignal([signal, AbortSignal.timeout(patienceMilliseconds)]);
  const exitCode = await Promise.race([
    ended,
    server.exited.then(() => 1),
    aborted(patience, patience).then(() => 1),
  ]);
  signal.throwIfAborted();
  return { exitCode, output: `VS Code wrote:\n${written.join("\n")}\n${server.output}` };
}

/**
 * Runs the same suite inside a desktop VS Code, which is downloaded into `.vscode-test/`. It needs a network and a
 * screen (a virtual one does on Linux), so it is for a contributor's machine and for public CI.
 * @param version a version, or "stable".
 */
async function runDesktop({ module, workspaceFile, env }: Suite, version: string): Promise<Outcome> {
  const { runTests } = await import("@vscode/test-electron");
  await using userData = await TemporaryFolder.make("pipeline-runs-desktop");
  await writeFirstSettings(userData.path, quietSettings);
  const exitCode = await runTests({
    version,
    extensionDevelopmentPath: projectRoot,
    extensionTestsPath: module,
    extensionTestsEnv: env,
    launchArgs: [
      workspaceFile,
      `--user-data-dir=${userData.path}`,
      "--disable-extensions",
      "--disable-workspace-trust",
      "--skip-welcome",
    ],
  });
  return { exitCode, output: "" };
}
