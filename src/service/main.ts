import { join } from "node:path";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { describeError } from "../contract/errors.ts";
import { lineLog } from "./log.ts";
import { serve } from "./serve.ts";

/** After how many seconds without faces and runs the service of a machine ends by itself. */
const idleSeconds = 600;

/**
 * The service as a face starts it: in the folder of `PIPELINE_DATA_DIR`, on any free port, gone after a while without
 * faces when `--idle-exit` is given. Ends with 0 at once when another process serves the folder already.
 */
const log = lineLog((line) => process.stderr.write(line), Date.now);
try {
  const serving = await serve({
    folder: dataFolder(process.env),
    port: 0,
    runnerPath: join(import.meta.dirname, "runner.js"),
    env: process.env,
    log,
    idleSeconds: process.argv.includes("--idle-exit") ? idleSeconds : undefined,
  });
  if (serving !== "taken") {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void serving.stop());
    // A terminal that is closed takes its own processes with it, not the service that others use.
    process.on("SIGHUP", () => {});
    await serving.stopped;
  }
} catch (error) {
  // At once: nothing that is still open may hold the folder of a service that doesn't serve.
  process.stderr.write(`${describeError(error)}\n`, () => process.exit(1));
}
