// A program: builds the tests inside the extension host and runs them, in the VS Code from npm or a desktop one.
//   node test/editor/inHost/run.ts [--desktop <version>] [--tests <glob>] [--extension <folder>] [--folder <workspace>]
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Problem } from "../../../scripts/problem.ts";
import { stopSignal } from "../../../scripts/process/stopSignal.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { endProcessesOf } from "../../endProcessesOf.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { buildSuite } from "./buildSuite.ts";
import type { InHostOptions } from "./inHostOptions.ts";
import { runServed } from "./runServed.ts";

const { values } = parseArgs({
  options: {
    desktop: { type: "string" },
    tests: { type: "string", default: "test/editor/inHost/**/*.test.ts" },
    extension: { type: "string", default: projectRoot },
    folder: { type: "string" },
  },
});

const signal = stopSignal();
try {
  await using data = await TemporaryFolder.make("pipeline-runs-data");
  await using _working = { [Symbol.asyncDispose]: () => endProcessesOf(data.path) };
  const options: InHostOptions = {
    env: { PIPELINE_DATA_DIR: data.path },
    extensionFolder: resolve(values.extension),
    suite: await buildSuite(values.tests),
    ...(values.folder === undefined ? {} : { folder: resolve(values.folder) }),
  };
  if (values.desktop === undefined) {
    process.exitCode = await runServed(options, signal);
  } else {
    const { runDesktop } = await import("./runDesktop.ts");
    process.exitCode = await runDesktop(options, values.desktop);
  }
} catch (error) {
  console.error(error instanceof Problem ? error.message : error);
  process.exitCode = 1;
}
