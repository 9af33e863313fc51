import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/machine/clock.ts";
import { launchRunner } from "../../../src/runner/launch/launch.ts";
import { machineMilliseconds } from "../../../src/runner/launch/protocol.ts";
import { ReadyRunner } from "../../../src/runner/launch/readyRunner.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { isAlive } from "../../isAlive.ts";
import { runnerPath } from "../../service/programs.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { newRunId, shellPipeline } from "./launchTestRun.ts";

const hour = 3_600_000;

describe("a run that needs life signs", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const processes = processTable(process.platform);

  /** A run that notes SIGTERM and goes on, also when its `sleep` was ended: the shell has `-e`. */
  async function stubborn(livesUntil: number, graceMilliseconds: number) {
    const file = join(folder.path, newRunId());
    const program = { execPath: process.execPath, runnerPath, env: process.env, processes };
    const job = launchRunner(
      {
        runId: newRunId(),
        root: folder.path,
        pipeline: shellPipeline(
          `trap 'echo asked >> ${file}' TERM; echo $$ > ${file}; while :; do sleep 0.1 || :; done`,
        ),
        artifactsFolder: join(folder.path, "artifacts"),
        livesUntil,
      },
      {
        ...{ runners: new ReadyRunner(program, systemClock), graceMilliseconds, processes },
        now: () => new Date(),
        onStep: () => {},
        onOutput: () => {},
        onArtifact: () => {},
        onValues: () => {},
      },
    );
    const lines = () => (existsSync(file) ? readFileSync(file, "utf8").split("\n") : []);
    await until(async () => lines().length > 1);
    return { job, pid: Number(lines()[0]), wasAsked: () => lines().includes("asked") };
  }

  it("lives as long as they come, and is asked to end and then ended by its own process after the last", async () => {
    const { job, pid, wasAsked } = await stubborn(machineMilliseconds() + hour, 200);
    const first = machineMilliseconds() + 500;
    job.live(first);
    job.live(first + hour);
    await until(async () => machineMilliseconds() > first);
    assert.deepEqual([isAlive(pid), wasAsked()], [true, false]);
    job.live(machineMilliseconds());
    const end = await job.ended;
    assert.deepEqual([isAlive(pid), wasAsked(), end.kind], [false, true, "died"]);
  });

  it("has no grace time left when it was suspended for longer than that", async () => {
    const { job, pid } = await stubborn(machineMilliseconds() + hour, hour);
    const { pid: own = 0 } = job;
    process.kill(own, "SIGSTOP");
    // A life sign that is read too late is none.
    job.live(machineMilliseconds() - 2 * hour);
    assert.ok(isAlive(pid));
    process.kill(own, "SIGCONT");
    await job.ended;
    assert.equal(isAlive(pid), false);
  });
});
