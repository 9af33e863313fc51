import { preparePipes } from "./cli/openOutputs.ts";
import { processTable } from "./processes/systemProcesses.ts";
import { serveRunner } from "./serveRunner.ts";

/** Serves the run whose job comes by this process's standard input, and ends this process. @param programPath the program that it runs. */
export async function serveRun(programPath: string): Promise<void> {
  const ending = new AbortController();
  let endsBy: NodeJS.Signals = "SIGKILL";
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      endsBy = signal;
      ending.abort();
    });
  }
  const pipes = preparePipes(process.platform);
  await serveRunner(programPath, processTable(process.platform), ending.signal);
  // A process that ends while they are made would leave their names.
  await pipes;
  // The empty write completes after every message. Then the process kills itself: `exit` may hang (nodejs/node#54918) and takes
  // milliseconds, and the next run waits until this process is gone. After a signal it ends by that one, which its service names.
  process.stdout.write("", () => process.removeAllListeners(endsBy).kill(process.pid, endsBy));
}
