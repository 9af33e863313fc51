import { enableCompileCache } from "node:module";
import { compiledFolder } from "../compiledFolder.ts";
import { lateRunnerPath } from "../runnerPath.ts";

enableCompileCache(compiledFolder);
const { loopbackFetch } = await import("../../../src/client/service/loopbackFetch.ts");
const { systemClock } = await import("../../../src/contract/clock.ts");
const { lineLog } = await import("../../../src/service/log.ts");
const { RunnerApi } = await import("../../../src/service/runner/machine/runnerApi.ts");
const { runMachine } = await import("../../../src/service/runner/machine/runnerMachine.ts");
const { unpackSnapshot } = await import("../../../src/service/runner/machine/unpackSnapshot.ts");

// A runner as a process of its own, straight from its source: `node runnerProgram.ts <url> <key> <slots> [once]`. Its first line
// is its id. It drains at SIGTERM, and ends when its standard input does, so that it outlives no test.
const [url = "", apiKey = "", slots = "1", once] = process.argv.slice(2);
const draining = new AbortController();
process.once("SIGTERM", () => draining.abort());
process.stdin.resume().once("end", () => process.exit(1));
await runMachine(
  {
    api: new RunnerApi({ baseUrl: new URL(url), apiKey, fetch: loopbackFetch(), clock: systemClock }),
    clock: systemClock,
    log: lineLog((line) => process.stderr.write(line), Date.now),
    ...{ label: "tests", slots: Number(slots), isOnce: once !== undefined },
    program: { execPath: process.execPath, runnerPath: lateRunnerPath, env: process.env },
    unpack: unpackSnapshot,
    graceMilliseconds: 1_000,
    onRegistered: (runnerId) => process.stdout.write(`${runnerId}\n`),
  },
  draining.signal,
);
process.exit(0);
