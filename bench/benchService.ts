import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../src/service/clock.ts";
import { openCore } from "../src/service/core.ts";
import { HandOver } from "../src/service/handOver.ts";
import { createApp } from "../src/service/http/app.ts";
import { directRoutes } from "../src/service/http/directRoutes.ts";
import { createHttpServer } from "../src/service/http/httpServer.ts";
import { OpenReplies } from "../src/service/http/openReplies.ts";
import { type Log, lineLog } from "../src/service/log.ts";
import { PipelineFiles } from "../src/service/pipelineFiles.ts";
import { RunLogs } from "../src/service/runLog/runLogs.ts";
import type { RunsInWorkDeps } from "../src/service/runsInWork.ts";
import { CommittedReads } from "../src/service/store/committedReads.ts";
import { openDatabase } from "../src/service/store/openDatabase.ts";

interface BenchServiceOptions {
  readonly folder: string;
  /** The processes of its runs. */
  readonly launch: RunsInWorkDeps["launch"];
  /** Hears each entry of the log, which is written to a file as well. */
  readonly onLog?: Log;
}

/** The service as it is, but for its runs' processes, which are the benchmark's to make. */
export async function benchService({ folder, launch, onLog }: BenchServiceOptions) {
  const clock = systemClock;
  const logFile = openSync(join(folder, "service.log"), "a");
  const written = lineLog((line) => writeSync(logFile, line), clock.now);
  const log: Log = (level, message, facts) => {
    written(level, message, facts);
    onLog?.(level, message, facts);
  };
  const db = await openDatabase(folder);
  const logs = new RunLogs({ folder, log, now: clock.now });
  const reads = new CommittedReads(folder);
  const core = await openCore({
    ...{ db, reads, clock, log, logs, launch, instance: "bench", runner: "bench" },
    endLeftovers: async () => {},
  });
  const replies = new OpenReplies();
  const deps = {
    ...core,
    pipelines: new PipelineFiles(() => performance.now()),
    ...{ clock, log, logs, folder, replies, pageFolder: undefined, instance: "bench" },
    sweep: () => {},
    life: {
      version: undefined,
      isEnding: () => false,
      handOver: new HandOver({ endsByItself: false, isBusy: () => false, clock, leave: () => {} }),
      isOwnKey: () => false,
    },
  };
  const server = createHttpServer({ app: createApp(deps), take: directRoutes(deps), replies, clock, log });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    core,
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await core.close();
      reads[Symbol.dispose]();
      closeSync(logFile);
    },
  };
}
