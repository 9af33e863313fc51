import { PosixProcesses } from "../../../src/runner/processes/posixProcesses.ts";
import { serveRunner } from "../../../src/runner/serveRunner.ts";
import { runnerPath } from "../../service/programs.ts";

// The runner's program as it is on macOS, as far as another system can be one: it finds its processes by `ps`.
const ending = new AbortController();
process.on("SIGTERM", () => ending.abort());
await serveRunner({
  input: process.stdin,
  output: process.stdout,
  environment: process.env,
  platform: process.platform,
  execPath: process.execPath,
  programPath: runnerPath,
  pid: process.pid,
  processes: new PosixProcesses({ showsEnvironment: false }),
  now: () => new Date(),
  ended: ending.signal,
});
process.stdout.write("", () => process.exit(0));
