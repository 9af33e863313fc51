import { join } from "node:path";
import { keepCompiled } from "../machine/compiledFolder.ts";
import { closeInheritedFiles, hideOwnMemory } from "../machine/ownProcess.ts";
import { ownVersion } from "../machine/versions.ts";

hideOwnMemory();
closeInheritedFiles();
keepCompiled();
const { serveMachine } = await import("./serveMachine.ts");
const programs = import.meta.dirname;
await serveMachine({
  version: ownVersion,
  runnerPath: join(programs, "runner.js"),
  pageFolder: join(programs, "page"),
});
