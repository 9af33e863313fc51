import { join } from "node:path";
import { ownVersion } from "../client/embedded/ownVersion.ts";
import { serveMachine } from "./serveMachine.ts";

const programs = import.meta.dirname;
await serveMachine({
  version: ownVersion,
  runnerPath: join(programs, "runner.js"),
  pageFolder: join(programs, "page"),
});
