import { enableCompileCache } from "node:module";
import { compiledFolder, runnerPath } from "../../service/programs.ts";

// The runner's program where there are no cgroups. By FINDS_BY=ps it is as on macOS, as far as another system can be one.
enableCompileCache(compiledFolder);
const { LinuxProcesses } = await import("../../../src/runner/processes/linuxProcesses.ts");
const { PosixProcesses } = await import("../../../src/runner/processes/posixProcesses.ts");
const { serveRunner } = await import("../../../src/runner/serveRunner.ts");

const ending = new AbortController();
process.on("SIGTERM", () => ending.abort());
const processes =
  process.env["FINDS_BY"] === "ps"
    ? new PosixProcesses({ showsEnvironment: false })
    : new LinuxProcesses("/proc");
await serveRunner(runnerPath, processes, ending.signal);
process.stdout.write("", () => process.exit(0));
