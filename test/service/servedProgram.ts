import { enableCompileCache } from "node:module";
import { compiledFolder } from "./compiledFolder.ts";
import { lateRunnerPath } from "./runnerPath.ts";

enableCompileCache(compiledFolder);
const { lineLog } = await import("../../src/service/log.ts");
const { serve } = await import("../../src/service/server.ts");

// The service as a process of its own, straight from its source: `node servedProgram.ts <data folder>`. Its first line
// is its address. It ends when its standard input does, so that it outlives no test.
const [folder = ""] = process.argv.slice(2);
const serving = await serve({
  folder,
  port: 0,
  runnerPath: lateRunnerPath,
  env: process.env,
  log: lineLog((line) => process.stderr.write(line), Date.now),
  graceMilliseconds: 300,
});
if (serving === "taken") throw new Error("the folder is served already");
process.stdout.write(`${serving.url}\n`);
process.stdin.resume().once("end", () => process.exit(0));
