import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../contract/errors.ts";
import { dataFolder, serviceLogFile } from "../machine/dataFolder.ts";
import { boundedLog, lineLog, logLevel } from "../machine/log.ts";
import { leaveNoCoreFiles } from "../machine/ownProcess.ts";
import { retentionDaysOf } from "./runs/retention.ts";
import { type ServeOptions, type Serving, serve } from "./server.ts";

/** The seconds without faces and runs after which the service ends by itself. */
const idleSeconds = 600;
/** How long the earlier service may take to leave, and the pause between two checks, in milliseconds. */
const leaving = { longest: 10_000, pause: 50 } as const;

/**
 * The service as a face starts it: in the folder of `PIPELINE_DATA_DIR`, and on its last port where that is free. With
 * `--idle-exit` it ends after a while without faces. Exits with 0 when another process serves the folder; with
 * `--take-over`, to which that process has agreed, it first waits some seconds for that process to leave.
 */
export async function serveMachine(
  program: Pick<ServeOptions, "version" | "runnerPath" | "pageFolder">,
): Promise<void> {
  const folder = dataFolder(process.env);
  const log = lineLog(boundedLog(serviceLogFile(folder)), Date.now, logLevel(process.env));
  let days: number | undefined;
  const begin = () =>
    serve({
      ...program,
      folder,
      port: "as-before",
      env: process.env,
      log,
      ...(days === undefined ? {} : { retention: { days } }),
      idleSeconds: process.argv.includes("--idle-exit") ? idleSeconds : undefined,
    });
  try {
    days = retentionDaysOf(process.env);
    const serving = process.argv.includes("--take-over") ? await beginAfterOther(begin) : await begin();
    if (serving === "taken") return;
    leaveNoCoreFiles();
    let stopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        // The second signal ends it at once: each runner ends its run when its pipe to this process closes.
        if (stopping) process.exit(130);
        stopping = true;
        void serving.stop();
      });
    }
    // A closed terminal doesn't end the service that others use.
    process.on("SIGHUP", () => {});
    await serving.stopped;
    // Exits even when a stream or a timer is still open.
    process.stderr.write("", () => process.exit(0));
  } catch (error) {
    // Exits at once, so that nothing still open keeps the folder locked.
    process.stderr.write(`${describeError(error)}\n`, () => process.exit(1));
  }
}

async function beginAfterOther(begin: () => Promise<Serving | "taken">): Promise<Serving | "taken"> {
  const deadline = performance.now() + leaving.longest;
  for (;;) {
    const serving = await begin();
    if (serving !== "taken" || performance.now() >= deadline) return serving;
    await pause(leaving.pause);
  }
}
