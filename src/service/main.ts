import { join } from "node:path";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { serviceLogFile } from "../client/embedded/serviceLog.ts";
import { describeError } from "../contract/errors.ts";
import { lineLog, logLevel } from "./log.ts";
import { boundedLog } from "./logFile.ts";
import { serve } from "./serve.ts";

/** After how many seconds without faces and runs the service of a machine ends by itself. */
const idleSeconds = 600;

/**
 * The service as a face starts it: in the folder of `PIPELINE_DATA_DIR`, on any free port, gone after a while without
 * faces when `--idle-exit` is given. Ends with 0 at once when another process serves the folder already.
 */
try {
  const folder = dataFolder(process.env);
  const log = lineLog(boundedLog(serviceLogFile(folder)), Date.now, logLevel(process.env));
  const serving = await serve({
    folder,
    port: 0,
    runnerPath: join(import.meta.dirname, "runner.js"),
    env: process.env,
    log,
    idleSeconds: process.argv.includes("--idle-exit") ? idleSeconds : undefined,
  });
  if (serving !== "taken") {
    let stopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        // Asked twice, it leaves at once: each runner ends its own run when its pipe to this process closes.
        if (stopping) process.exit(130);
        stopping = true;
        void serving.stop();
      });
    }
    // A terminal that is closed takes its own processes with it, not the service that others use.
    process.on("SIGHUP", () => {});
    await serving.stopped;
  }
} catch (error) {
  // At once: nothing that is still open may hold the folder of a service that doesn't serve.
  process.stderr.write(`${describeError(error)}\n`, () => process.exit(1));
}
