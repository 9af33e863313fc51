import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findProcesses } from "../../../scripts/process/findProcesses.ts";
import { launchRunner } from "../../../src/runner/launch/launch.ts";
import type { RunnerJob } from "../../../src/runner/launch/protocol.ts";
import { ReadyRunner } from "../../../src/runner/launch/readyRunner.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { lateRunnerPath, runnerPath } from "../../service/programs.ts";
import { servedProcess } from "../../service/servedProcess.ts";
import { ended, programPipeline, started } from "../../service/startedService.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { newRunId, shellPipeline } from "./launchTestRun.ts";

describe("a runner that is kept ready", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const processes = processTable(process.platform);

  function kept() {
    const clock = new FakeClock("2026-03-05T12:00:00Z");
    const pids: number[] = [];
    const ready = new ReadyRunner(
      {
        execPath: process.execPath,
        runnerPath,
        env: { PATH: process.env["PATH"], ORDINARY: "kept" },
        processes: Object.assign(Object.create(processes), {
          birthOf(pid: number) {
            pids.push(pid);
            return processes.birthOf(pid);
          },
        }),
      },
      clock,
    );
    return {
      ready,
      clock,
      /** The processes that were started, in order. */
      pids,
      /** Runs a shell's lines. @returns what they printed, and the runner's process. */
      async run(lines: string, changes: Partial<RunnerJob> = {}) {
        const printed: string[] = [];
        const job = launchRunner(
          {
            runId: newRunId(),
            root: folder.path,
            pipeline: shellPipeline(lines),
            artifactsFolder: join(folder.path, "artifacts"),
            ...changes,
          },
          {
            ...{ runners: ready, processes, graceMilliseconds: 500, now: () => new Date() },
            onStep: () => {},
            onArtifact: () => {},
            onValues: () => {},
            onOutput: ({ stream, text }) => stream === "stdout" && printed.push(text),
          },
        );
        return { end: await job.ended, pid: job.pid ?? 0, printed: printed.join("") };
      },
      [Symbol.dispose]: () => ready[Symbol.dispose](),
    };
  }

  it("runs the next run, and one run only", async () => {
    using runner = kept();
    runner.ready.prepare();
    runner.ready.prepare();
    const [first] = runner.pids;
    const one = await runner.run("echo one");
    assert.deepEqual([one.end.kind, one.printed, one.pid], ["succeeded", "one\n", first]);
    assert.equal(isAlive(one.pid), false);
    const two = await runner.run("echo two");
    assert.deepEqual([two.end.kind, two.printed], ["succeeded", "two\n"]);
    assert.notEqual(two.pid, one.pid);
    assert.equal(runner.pids.length, 2);
  });

  it("isn't for a start that trusts other certificates", async () => {
    using runner = kept();
    runner.ready.prepare();
    const environment = [`PATH=${process.env["PATH"]}`, "NODE_EXTRA_CA_CERTS=/of/theirs.pem"];
    const theirs = await runner.run("echo one", { environment });
    assert.deepEqual([theirs.end.kind, theirs.printed, runner.pids.length], ["succeeded", "one\n", 2]);
    runner.ready.prepare(environment);
    runner.ready.prepare(environment);
    // Of what will be run nothing is known.
    runner.ready.prepare();
    await runner.run("echo two", { environment });
    assert.equal(runner.pids.length, 3);
  });

  it("has nothing of the run before: no variable, PATH, folder or program", async () => {
    using runner = kept();
    runner.ready.prepare();
    const before = await runner.run(
      `export LEFT=left; sh -c 'trap "" TERM; echo $$ > pid; exec sleep 1000' & until [ -s pid ]; do :; done; cd /`,
      { environment: [`PATH=/opt/other:${process.env["PATH"]}`, "THEIRS=theirs"] },
    );
    assert.equal(before.end.kind, "succeeded");
    assert.equal(isAlive(Number(readFileSync(join(folder.path, "pid"), "utf8"))), false);
    runner.ready.prepare();
    const runId = newRunId();
    const after = await runner.run('echo "$ORDINARY+$LEFT$THEIRS+$PIPELINE_RUN_ID+$PATH"; pwd', { runId });
    assert.equal(after.printed, `kept++${runId}+${process.env["PATH"]}\n${folder.path}\n`);
  });

  it("is replaced when it was killed", async () => {
    using runner = kept();
    runner.ready.prepare();
    const [killed = 0] = runner.pids;
    process.kill(killed, "SIGKILL");
    // Once its exit is known.
    while (runner.pids.length === 1) {
      await pause(5);
      runner.ready.prepare();
    }
    const { end, pid } = await runner.run("true");
    assert.equal(end.kind, "succeeded");
    assert.equal(pid, runner.pids[1]);
  });

  it("ends when it is asked to", async () => {
    using runner = kept();
    runner.ready.prepare();
    const [pid = 0] = runner.pids;
    process.kill(pid, "SIGTERM");
    while (isAlive(pid)) await pause(5);
  });

  it("is given up five minutes after it was last asked for", async () => {
    using runner = kept();
    runner.ready.prepare();
    const [pid = 0] = runner.pids;
    runner.clock.advance(299_000);
    runner.ready.prepare();
    runner.clock.advance(299_000);
    assert(isAlive(pid));
    runner.clock.advance(1_000);
    while (isAlive(pid)) await pause(5);
    runner.ready.prepare();
    assert.equal(runner.pids.length, 2);
  });

  it("ends with its service, and no other is started after that", async () => {
    using runner = kept();
    runner.ready.prepare();
    const [pid = 0] = runner.pids;
    runner.ready[Symbol.dispose]();
    while (isAlive(pid)) await pause(5);
    runner.ready.prepare();
    assert.equal(runner.pids.length, 1);
    assert.equal(runner.clock.alarms, 0);
  });

  itOn(
    "linux",
    "is started when a project is registered and when a run has ended, and ends when its service is killed",
    async () => {
      const mark = { KEPT_RUNNER: randomUUID() };
      await using service = await servedProcess({ environment: mark });
      const waiting = async () =>
        (await findProcesses(mark)).filter(({ words }) => words.includes(lateRunnerPath));
      await service.write("hello", programPipeline(""));
      assert.deepEqual(await waiting(), []);
      const member = await service.member("acme", { parallelRuns: 1, runsPerDay: 50 });
      while ((await waiting()).length !== 1) await pause(20);
      await ended(member.client(), await started(member.client(), "hello"));
      while ((await waiting()).length !== 1) await pause(20);
      await service.kill();
      while ((await waiting()).length > 0) await pause(20);
    },
  );
});
