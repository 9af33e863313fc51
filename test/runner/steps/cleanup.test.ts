// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../isAlive.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { launchTestRun, newRunId, pipelineOf, type TestRun } from "../launch/launchTestRun.ts";

const minute = 60_000;

describe("what cleans up", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();
  const resources = { sh: { type: "cli" } };

  function endsOf({ told }: TestRun): string[] {
    return told.flatMap(({ step }) => (step.status === "running" ? [] : [`${step.name} ${step.status}`]));
  }

  /** A file that a step writes, and what is in it. */
  function noted() {
    const file = join(folder.path, newRunId());
    return { file, text: () => (existsSync(file) ? readFileSync(file, "utf8") : "") };
  }

  it("runs behind a success and a failure, knows what was done, and fails the run where it fails", async () => {
    for (const [last, fails, message] of [
      ["true", "true", undefined],
      ["exit 3", "exit 4", "last: exited with 3, expected 0; it printed nothing"],
      ["true", "exit 4", "tidy: exited with 4, expected 0; it printed nothing"],
    ] as const) {
      const { file, text } = noted();
      const pipeline = pipelineOf({
        resources,
        steps: [
          { id: "made", name: "made", use: "sh", run: "echo 7" },
          { id: "last", name: "last", use: "sh", run: last },
        ],
        finally: [
          { name: "tidy", use: "sh", run: fails },
          {
            name: "more",
            use: "sh",
            run: [
              "sh",
              "-c",
              'echo "$1" > "$2"',
              "sh",
              "${{ steps.made.stdout }} ${{ steps.last.outcome }}",
              file,
            ],
          },
          { name: "none", if: "exists(steps.none)", use: "sh", run: "exit 5" },
        ].slice(0, 2),
      });
      const run = launchTestRun(folder.path, pipeline);
      assert.deepEqual(
        await run.job.ended,
        message === undefined ? { kind: "succeeded" } : { kind: "failed", message },
      );
      assert.equal(text(), `7 ${last === "true" ? "succeeded" : "failed"}\n`);
      assert.ok(run.told.filter(({ step }) => step.cleanup).length === 4);
    }
  });

  /** Three steps, of which the first leaves a program running. That notes its end, as the others note what they do. */
  function threeSteps() {
    const { file, text } = noted();
    const server = `trap 'echo server ended >> ${file}; exit' TERM; : > ${file}.up; while :; do sleep 0.1; done`;
    const pipeline = pipelineOf({
      resources,
      steps: [
        {
          name: "a",
          use: "sh",
          run: `(${server}) & echo $! > ${file}.server; until test -e ${file}.up; do sleep 0.01; done`,
        },
        {
          name: "b",
          use: "sh",
          run: `trap 'echo asked >> ${file}; exit 1' TERM; echo $$ > ${file}.own; while :; do sleep 0.1; done`,
        },
        { name: "c", use: "sh", run: "true" },
      ],
      finally: [
        {
          name: "tidy",
          use: "sh",
          run: `test -s ${file}.server; echo tidied >> ${file}`,
        },
      ],
    });
    return { pipeline, file, text, pidIn: (end: string) => Number(readFileSync(`${file}.${end}`, "utf8")) };
  }

  it("runs when the run is stopped during a step, whose own program alone is ended before it", async () => {
    const { pipeline, file, text, pidIn } = threeSteps();
    const run = launchTestRun(folder.path, pipeline);
    await until(async () => existsSync(`${file}.own`) && readFileSync(`${file}.own`, "utf8").endsWith("\n"));
    run.job.stop(minute);
    assert.deepEqual(await run.job.ended, { kind: "stopped" });
    assert.equal(text(), "asked\ntidied\nserver ended\n");
    assert.deepEqual(endsOf(run), ["a succeeded", "b stopped", "c not-reached", "tidy succeeded"]);
    assert.deepEqual([isAlive(pidIn("server")), isAlive(pidIn("own"))], [false, false]);
  });

  it("runs when the run is stopped as a step begins or ends, whichever that is", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: ["a", "b", "c"].map((name) => ({ name, use: "sh", run: "sleep 0.1" })),
      finally: [{ name: "tidy", use: "sh", run: "echo tidied" }],
    });
    for (const name of ["a", "b", "c"]) {
      for (const status of ["running", "succeeded"]) {
        const run: TestRun = launchTestRun(folder.path, pipeline, {
          onStep: (step, index) => {
            run.told.push({ step, index });
            if (step.name === name && step.status === status) run.job.stop(minute);
          },
        });
        assert.deepEqual(await run.job.ended, { kind: "stopped" });
        assert.ok(
          run.outputs.some(({ text }) => text === "tidied\n"),
          `${name} ${status}`,
        );
        const tidied = endsOf(run).filter((end) => end.startsWith("tidy"));
        assert.deepEqual(tidied, ["tidy succeeded"]);
        assert.equal(new Set(run.told.map(({ index }) => index)).size, 4);
      }
    }
  });

  it("finds a list as stopped that had items left, although the last one that ran succeeded", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [
        {
          ...{ id: "list", name: "list", each: [1, 2], use: "sh" },
          run: "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done",
        },
      ],
      finally: [
        {
          ...{ name: "tidy", use: "sh", run: ["true"] },
          expect: { that: "length(steps.list) == 1 && steps.list[0].outcome == 'succeeded'" },
        },
      ],
    });
    const run: TestRun = launchTestRun(folder.path, pipeline, {
      onOutput: ({ text }) => void (text.includes("up\n") && run.job.stop(minute)),
    });
    await run.job.ended;
    assert.deepEqual(endsOf(run), ["list stopped", "tidy succeeded"]);
  });

  it("comes before the outputs, which are kept only of a run that it leaves as succeeded", async () => {
    for (const [tidy, end] of [
      ["echo tidied", "succeeded"],
      ["exit 4", "failed"],
      ["echo stop", "stopped"],
    ]) {
      const pipeline = pipelineOf({
        resources,
        steps: [{ id: "made", name: "a", use: "sh", run: "echo 7" }],
        finally: [{ name: "tidy", use: "sh", run: tidy }],
        outputs: { made: "${{ steps.made.stdout }}" },
      });
      const run: TestRun = launchTestRun(folder.path, pipeline, {
        onOutput: ({ text }) => void (text === "stop\n" && run.job.stop(minute)),
      });
      assert.equal((await run.job.ended).kind, end);
      const kept = end === "succeeded" ? [{ kind: "outputs", outputs: { made: "7" } }] : [];
      assert.deepEqual(run.kept, kept, tidy);
    }
  });

  it("is ended by another stop, and at the end of its time", async () => {
    const pipelineWith = (limit: string, first = "true") =>
      pipelineOf({
        resources,
        "finally-limit": limit,
        steps: [{ name: "a", use: "sh", run: first }],
        finally: [
          { name: "hangs", use: "sh", run: "echo hanging; sleep 600" },
          { name: "never", use: "sh", run: "true" },
        ],
      });
    const stopped: TestRun = launchTestRun(folder.path, pipelineWith("20s"), {
      onOutput: ({ text }) => void (text.includes("hanging\n") && stopped.job.stop()),
    });
    assert.deepEqual(await stopped.job.ended, { kind: "stopped" });
    assert.deepEqual(endsOf(stopped), ["a succeeded", "hangs stopped", "never not-reached"]);
    const late = launchTestRun(folder.path, pipelineWith("500ms"));
    assert.deepEqual(await late.job.ended, {
      kind: "failed",
      message: "what cleans up wasn't over within 500 ms, its `finally-limit`",
    });
    assert.deepEqual(endsOf(late), ["a succeeded", "hangs stopped", "never not-reached"]);
    const messages = (run: TestRun) => run.told.flatMap(({ step: { message } }) => message ?? []);
    assert.deepEqual(messages(stopped), []);
    assert.deepEqual(messages(late), ["what cleans up wasn't over within 500 ms, its `finally-limit`"]);
    const cut: TestRun = launchTestRun(folder.path, pipelineWith("20s", "sleep 600"), {
      onStep: (step, index) => {
        cut.told.push({ step, index });
        if (index === 0 && step.status === "running") cut.job.stop(500);
      },
    });
    assert.deepEqual(await cut.job.ended, { kind: "stopped" });
    assert.match(
      messages(cut).join(),
      /^what cleans up wasn't over within \d+ ms, what the time limit leaves to it$/,
    );
  });

  it("begins by itself when the time of the steps is over and nobody says so", async () => {
    const { pipeline } = threeSteps();
    const run = launchTestRun(folder.path, pipeline, {}, undefined, { cleanUpAt: 0 });
    // Who has stopped it knows why.
    assert.equal((await run.job.ended).kind, "died");
    assert.ok(endsOf(run).includes("tidy failed"));
  });

  it("isn't there any more when the runner is killed, nor is anything else of the run", async () => {
    const { file, text } = noted();
    const pipeline = pipelineOf({
      resources,
      steps: [{ name: "a", use: "sh", run: "true" }],
      finally: [{ name: "hangs", use: "sh", run: `echo $$ > ${file}; sleep 600` }],
    });
    const run = launchTestRun(folder.path, pipeline);
    await until(async () => text().endsWith("\n"));
    process.kill(run.job.pid ?? 0, "SIGKILL");
    assert.equal((await run.job.ended).kind, "died");
    assert.equal(isAlive(Number(text())), false);
    assert.deepEqual(endsOf(run), ["a succeeded", "hangs lost"]);
  });

  it("connects anew to a database whose process is gone", async () => {
    const db = { type: "sql", url: `sqlite:${newRunId()}.db?mode=rwc` };
    const pipeline = pipelineOf({
      resources: { ...resources, db },
      steps: [
        { use: "db", query: "create table t (x)" },
        { use: "sh", run: "pkill -9 -P $PPID -f -- '--sqlit[e]'" },
        { name: "gone", use: "db", query: "select 1", retry: { times: 2, every: 0 } },
      ],
      finally: [{ name: "tidy", use: "db", query: "drop table t" }],
    });
    const run = launchTestRun(folder.path, pipeline);
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    assert.ok(endsOf(run).includes("tidy succeeded"));
    assert.equal(run.told.findLast(({ step }) => step.name === "gone")?.step.attempts, 2);
  });

  it("can use the connection of a statement that was stopped", async () => {
    const pipeline = pipelineOf({
      resources: { ...resources, db: { type: "sql", url: `sqlite:${newRunId()}.db?mode=rwc` } },
      steps: [
        { use: "db", query: "create table t (x)" },
        {
          name: "endless",
          use: "db",
          query: "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
        },
      ],
      finally: [{ name: "tidy", use: "db", query: "drop table t" }],
    });
    const run: TestRun = launchTestRun(folder.path, pipeline, {
      onStep: (step, index) => {
        run.told.push({ step, index });
        if (step.name === "endless" && step.status === "running") run.job.stop(minute);
      },
    });
    await run.job.ended;
    assert.deepEqual(endsOf(run).slice(1), ["endless stopped", "tidy succeeded"]);
  });
});
