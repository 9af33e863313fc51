// Our service as a face starts it, with a log that is a file; only its runs have no processes.

import type { RunnerEnd } from "../../src/contract/runners.ts";
import { serviceLogFile } from "../../src/machine/dataFolder.ts";
import { boundedLog, lineLog } from "../../src/machine/log.ts";
import { serve } from "../../src/service/server.ts";
import { answerCalls } from "../worker/answerCalls.ts";
import { ownUsage, type ServerCalls } from "./calls.ts";
import { slowCommits } from "./slowCommits.ts";

const [, , folder = "", commitMilliseconds] = process.argv;
slowCommits(Number(commitMilliseconds));
const serving = await serve({
  folder,
  port: 0,
  runnerPath: "",
  env: process.env,
  log: lineLog(boundedLog(serviceLogFile(folder)), Date.now),
  launch: () => {
    const { promise: ended, resolve } = Promise.withResolvers<RunnerEnd>();
    return {
      pid: undefined,
      identity: Promise.resolve(undefined),
      ended,
      stop: () => resolve({ kind: "stopped" }),
    };
  },
});
if (serving === "taken") throw new Error(`${folder} is served already`);
answerCalls<ServerCalls>({ open: async () => serving.url, usage: ownUsage }, () => process.exit());
