import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";

/** In the environment of tests: 1 where what is in `dist/` has been built from these very sources. */
export const builtVariable = "PIPELINE_RUNS_TEST_BUILT";

const isBuilt = process.env[builtVariable] === "1";

/**
 * The program that works a run. `npm test`, which has built it a moment before, tests what is shipped, and that starts in a
 * seventh of the time; a single file is run against the sources, which can't be older than they are.
 */
export const runnerPath = join(projectRoot, isBuilt ? "dist/runner.js" : "src/runner/main.ts");

/** The program that a server on PostgreSQL parses with, likewise. */
export const parserPath = join(projectRoot, isBuilt ? "dist/parser.js" : "src/team/parserThread.ts");

/** The same for tests of what is not about runners: one that is kept ready and gets no job takes half the time. */
export const lateRunnerPath = isBuilt ? join(import.meta.dirname, "lateRunner.mjs") : runnerPath;

/** Where programs that tests start from their sources keep them compiled: without it each takes half as long again. */
export const compiledFolder = join(projectRoot, "node_modules/.cache/pipeline-runs/compiled");

/** The tool as it is shipped; `npm run build` makes it. */
export const toolPath = join(projectRoot, "dist/cli.js");
