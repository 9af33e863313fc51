import { enableCompileCache } from "node:module";
import { compiledFolder } from "./compiledFolder.ts";

enableCompileCache(compiledFolder);
const { describeError } = await import("../../src/contract/errors.ts");
const { serve } = await import("../../src/service/server.ts");

// Starts a service as a user who is nobody, since to the one who may do everything no folder is closed, and ends it again:
// `node serveOnce.ts <data folder>`. Ends with 1 and the error's sentence where it could not start.
const [folder = ""] = process.argv.slice(2);
const nobody = 65_534;
if (process.getuid?.() === 0) {
  process.setgid?.(nobody);
  process.setuid?.(nobody);
}
try {
  const serving = await serve({ folder, port: 0, runnerPath: "", env: {}, log: () => {} });
  if (serving !== "taken") await serving.stop();
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}
