import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { systemClock } from "../../../src/contract/clock.ts";
import { lineLog } from "../../../src/service/log.ts";
import { RunnerApi } from "../../../src/service/runner/machine/runnerApi.ts";
import { runMachine } from "../../../src/service/runner/machine/runnerMachine.ts";
import { unpackSnapshot } from "../../../src/service/runner/machine/unpackSnapshot.ts";
import { lateRunnerPath } from "../runnerPath.ts";

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
