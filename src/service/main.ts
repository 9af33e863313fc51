import { join } from "node:path";
import { ownVersion } from "../client/embedded/versions.ts";
import { serveMachine } from "./lifecycle/serveMachine.ts";

// A report that Node.js writes of a crash would hold the environment, and with it what is secret for the runs' steps.
if (process.report) process.report.excludeEnv = true;
const programs = import.meta.dirname;
await serveMachine({
  version: ownVersion,
  runnerPath: join(programs, "runner.js"),
  pageFolder: join(programs, "page"),
});
