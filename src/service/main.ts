import { join } from "node:path";
import { closeInheritedFiles } from "../machine/inheritedFiles.ts";
import { ownVersion } from "../machine/versions.ts";
import { serveMachine } from "./serveMachine.ts";

// Node.js's report of a crash would hold the environment, and with it the secrets of the runs' steps.
if (process.report) process.report.excludeEnv = true;
closeInheritedFiles();
const programs = import.meta.dirname;
await serveMachine({
  version: ownVersion,
  runnerPath: join(programs, "runner.js"),
  pageFolder: join(programs, "page"),
});
