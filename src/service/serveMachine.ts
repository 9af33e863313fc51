import { setTimeout as pause } from "node:timers/promises";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { describeError } from "../contract/errors.ts";
import { lineLog } from "./log.ts";
import { type Serving, serve } from "./serve.ts";

/** After how many seconds without faces and runs the service of a machine ends by itself. */
const idleSeconds = 600;
/** How long the service that this one follows may take to leave, and the pause between two looks, in milliseconds. */
const leaving = { longest: 10_000, pause: 50 } as const;

interface MachineProgram {
  /** Undefined where it runs from its sources; then nobody takes it for older or newer. */
  readonly version: string | undefined;
  readonly runnerPath: string;
  readonly pageFolder: string;
}

/**
 * The service as a face starts it: in the folder of `PIPELINE_DATA_DIR`, on the port of the last time where that is
 * free, gone after a while without faces when `--idle-exit` is given. Ends with 0 at once when another process serves
 * the folder already; with `--take-over`, which is given when that one has agreed to leave, only after some seconds.
 */
export async function serveMachine({ version, runnerPath, pageFolder }: MachineProgram): Promise<void> {
  const log = lineLog((line) => process.stderr.write(line), Date.now);
  const begin = () =>
    serve({
      folder: dataFolder(process.env),
      port: "as-before",
      runnerPath,
      pageFolder,
      env: process.env,
      log,
      version,
      idleSeconds: process.argv.includes("--idle-exit") ? idleSeconds : undefined,
    });
  try {
    const serving = process.argv.includes("--take-over") ? await beginAfterOther(begin) : await begin();
    if (serving === "taken") return;
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void serving.stop());
    // A terminal that is closed takes its own processes with it, not the service that others use.
    process.on("SIGHUP", () => {});
    await serving.stopped;
    // What a stream or a timer may still hold open must not keep a service that serves no more.
    process.stderr.write("", () => process.exit(0));
  } catch (error) {
    // At once: nothing that is still open may hold the folder of a service that doesn't serve.
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
