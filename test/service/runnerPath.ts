import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { builtVariable } from "./builtVariable.ts";

/**
 * The program that works a run. `npm test`, which has built it a moment before, tests what is shipped, and that starts in a
 * seventh of the time; a single file is run against the sources, which can't be older than they are.
 */
export const runnerPath = join(
  projectRoot,
  process.env[builtVariable] === "1" ? "dist/runner.js" : "src/service/runner/main.ts",
);
