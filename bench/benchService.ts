import { closeSync, openSync, writeSync } from "node:fs";
import { type Clock, systemClock } from "../src/machine/clock.ts";
import { serviceLogFile } from "../src/machine/dataFolder.ts";
import { type Log, lineLog } from "../src/machine/log.ts";
import { type ServeOptions, serve } from "../src/service/server.ts";

interface BenchServiceOptions {
  readonly folder: string;
  /** The processes of its runs. */
  readonly launch: NonNullable<ServeOptions["launch"]>;
  /** Hears each entry of the log, which is written to a file as well. */
  readonly onLog?: Log;
  readonly clock?: Clock;
}

/** The service as it is, but for its runs' processes, which are the benchmark's to make. It ends with its disposal. */
export async function benchService({ folder, launch, onLog, clock = systemClock }: BenchServiceOptions) {
  const logFile = openSync(serviceLogFile(folder), "a", 0o600);
  const written = lineLog((line) => writeSync(logFile, line), clock.now);
  const log: Log = (level, message, facts) => {
    written(level, message, facts);
    onLog?.(level, message, facts);
  };
  const serving = await serve({ folder, port: 0, runnerPath: "", env: process.env, log, launch, clock });
  if (serving === "taken") throw new Error(`${folder} is served already`);
  return {
    url: serving.url,
    async close() {
      await serving.stop();
      closeSync(logFile);
    },
  };
}
