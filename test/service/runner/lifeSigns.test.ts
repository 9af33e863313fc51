import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../src/contract/clock.ts";
import { launchRunner } from "../../../src/service/runner/launch.ts";
import { processTable } from "../../../src/service/runner/processes/systemProcesses.ts";
import { machineMilliseconds } from "../../../src/service/runner/protocol.ts";
import { ReadyRunner } from "../../../src/service/runner/readyRunner.ts";
import { isAlive } from "../../isAlive.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { runnerPath } from "../programs.ts";
import { newRunId, shellPipeline } from "./launchTestRun.ts";

describe("a run that needs life signs", function () {
  this.timeout(60_000);
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const processes = processTable(process.platform);

  /** A run that SIGTERM doesn't end, once its program runs. */
  async function stubborn(livesFor: number, graceMilliseconds: number) {
    const file = join(folder.path, newRunId());
    const program = { execPath: process.execPath, runnerPath, env: process.env, processes };
    const job = launchRunner(
      {
        runId: newRunId(),
        root: folder.path,
        pipeline: shellPipeline(`trap '' TERM; echo $$ > ${file}; while :; do sleep 0.1; done`),
        artifactsFolder: join(folder.path, "artifacts"),
        livesUntil: machineMilliseconds() + livesFor,
      },
      {
        ...{ runners: new ReadyRunner(program, systemClock), graceMilliseconds, processes },
        now: () => new Date(),
        onStep: () => {},
        onOutput: () => {},
        onArtifact: () => {},
      },
    );
    while (!existsSync(file) || !readFileSync(file, "utf8").endsWith("\n")) await pause(5);
    return { job, pid: Number(readFileSync(file, "utf8")) };
  }

  it("lives as long as they come, and is ended by its own process after the last", async () => {
    const { job, pid } = await stubborn(3_000, 200);
    let last = 0;
    for (let sign = 0; sign < 4; sign++) {
      last = machineMilliseconds() + 3_000;
      job.live(last);
      await pause(1_000);
      assert.ok(isAlive(pid));
    }
    const end = await job.ended;
    assert.equal(isAlive(pid), false);
    const late = machineMilliseconds() - last;
    assert.ok(late > 150 && late < 2_000, `it ended ${late} ms after its time`);
    assert.equal(end.kind, "died");
  });

  it("has no grace time left when it was suspended for longer than that", async () => {
    const { job, pid } = await stubborn(4_000, 1_500);
    const { pid: own = 0 } = job;
    process.kill(own, "SIGSTOP");
    // A life sign that is read too late is none.
    job.live(machineMilliseconds() + 1_000);
    await pause(6_000);
    assert.ok(isAlive(pid));
    process.kill(own, "SIGCONT");
    const resumed = performance.now();
    while (isAlive(pid)) await pause(5);
    assert.ok(performance.now() - resumed < 1_000, `it took ${performance.now() - resumed} ms`);
    await job.ended;
  });
});
