import { join } from "node:path";
import { closeInheritedFiles, hideOwnMemory } from "../machine/ownProcess.ts";
import { ownVersion } from "../machine/versions.ts";
import { serveMachine } from "./serveMachine.ts";

hideOwnMemory();
closeInheritedFiles();
const programs = import.meta.dirname;
await serveMachine({
  version: ownVersion,
  runnerPath: join(programs, "runner.js"),
  pageFolder: join(programs, "page"),
});
