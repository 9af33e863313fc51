import { preparePipes } from "./cli/openOutputs.ts";
import { processTable } from "./processes/systemProcesses.ts";
import { serveRunner } from "./serveRunner.ts";

/** Serves the run whose job arrives on standard input, then ends this process. @param programPath the program that it runs. */
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
  // If this process ended while the pipes are made, their files would be left behind.
  await pipes;
  // The empty write completes after every message. Then the process kills itself: `exit` may hang (nodejs/node#54918) and takes
  // milliseconds, for which the next run would wait. After a signal it ends by the same one, which its service names.
  process.stdout.write("", () => process.removeAllListeners(endsBy).kill(process.pid, endsBy));
}
