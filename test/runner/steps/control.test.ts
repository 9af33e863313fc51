// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { LoopbackService, sendJson } from "../../client/loopbackService.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { type LaunchChanges, launchTestRun, pipelineOf, type TestRun } from "../launch/launchTestRun.ts";

/** Each step that has ended, with its message. */
function endsOf({ told }: TestRun): (string | undefined)[][] {
  return told.flatMap(({ step }) =>
    step.status === "running"
      ? []
      : [[step.name, step.status, ...(step.message === undefined ? [] : [step.message])]],
  );
}

function logOf({ outputs }: TestRun): string {
  return outputs.map(({ text }) => text).join("");
}

describe("what is done around a step", () => {
  const folder = temporaryFolder();
  const resources = { sh: { type: "cli" } };

  async function ran(pipeline: Pipeline, changes: LaunchChanges = {}) {
    const run = launchTestRun(folder.path, pipeline, changes);
    return { run, end: await run.job.ended };
  }

  it("skips it where its `if` is false, and fails it where that is neither true nor false", async () => {
    const pipeline = pipelineOf({
      inputs: { visit: false, who: "me" },
      resources,
      steps: [
        { id: "a", name: "a", if: "inputs.visit", use: "sh", run: "echo a" },
        {
          name: "b",
          if: "steps.a.outcome == 'skipped' && !exists(steps.a.stdout)",
          use: "sh",
          run: "echo b",
        },
        { name: "c", if: "upper(inputs.who)", use: "sh", run: "echo c" },
        { name: "d", use: "sh", run: "echo d" },
      ],
    });
    const { run, end } = await ran(pipeline);
    const message = "`if` takes true or false, and `upper(inputs.who)` is a text";
    assert.deepEqual(end, { kind: "failed", message: `c: ${message}` });
    assert.deepEqual(endsOf(run), [
      ["a", "skipped"],
      ["b", "succeeded"],
      ["c", "failed", message],
      ["d", "not-reached"],
    ]);
  });

  it("runs it for each item of a list, and tells the items apart", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [
        { id: "list", use: "sh", run: 'echo \'["x", 2, {"k": null}]\'' },
        {
          id: "all",
          name: "all",
          each: "${{ steps.list.json }}",
          use: "sh",
          run: ["echo", "${{ each.index }}=${{ each.value }}"],
          expect: { that: "!contains(this.stdout, '2')" },
          "on-failure": "continue",
        },
        {
          name: "after",
          use: "sh",
          run: ["echo", "${{ join(steps.all.*.stdout, ' ') }}"],
          expect: { output: '0=x 1=2 2={"k":null}' },
        },
        { name: "first alone", each: [1, 2], use: "sh", run: "exit 1" },
      ],
    });
    const { run, end } = await ran(pipeline);
    const first = "item 2 of 3: contains(this.stdout, '2') is true";
    assert.ok(end.kind === "failed" && end.message.startsWith(`all: ${first}`), JSON.stringify(end));
    const message = "item 1 of 2: exited with 1, expected 0; it printed nothing";
    assert.deepEqual(endsOf(run).slice(2), [
      ["after", "succeeded"],
      ["first alone", "failed", message],
    ]);
    assert.match(logOf(run), /item 3 of 3: {"k":null}/);
  });

  it("refuses for `each` what is no list, and one of more than 1000 items", async () => {
    for (const [text, problem] of [
      ['{"a": 1}', "`each` takes a list, and this is a map"],
      [JSON.stringify(Array(1001).fill(0)), "`each` takes at most 1000 items, and these are 1001"],
    ]) {
      const pipeline = pipelineOf({
        inputs: { text: text ?? "" },
        resources,
        steps: [{ name: "x", each: "${{ fromJSON(inputs.text) }}", use: "sh", run: "true" }],
      });
      assert.deepEqual((await ran(pipeline)).end, { kind: "failed", message: `x: ${problem}` });
    }
  });

  it("gives a list for `each`, empty where the step is skipped, or fails before its first item", async () => {
    const list = { each: [1], use: "sh", run: "true", "on-failure": "continue" };
    const pipeline = pipelineOf({
      inputs: { no: false },
      resources,
      steps: [
        { ...list, id: "skipped", if: "inputs.no" },
        { ...list, id: "failed", if: "fromJSON('1')" },
        { ...list, id: "none", each: "${{ fromJSON('1') }}" },
        {
          ...{ name: "all", use: "sh", run: ["true"] },
          expect: {
            that: ["steps.skipped", "steps.failed", "steps.none"].map((each) => `toJSON(${each}) == '[]'`),
          },
        },
      ],
    });
    const { run } = await ran(pipeline);
    assert.deepEqual(endsOf(run).at(-1), ["all", "succeeded"]);
  });

  it("tries it again until it succeeds, and keeps what the last attempt left", async () => {
    let count = 0;
    await using shop = await LoopbackService.listen((_, response) =>
      sendJson(response, 200, { count: ++count }),
    );
    const pipeline = pipelineOf({
      resources: { ...resources, shop: { type: "http", "base-url": shop.origin } },
      steps: [
        {
          id: "poll",
          use: "shop",
          get: "/",
          retry: { times: 5, every: 0 },
          expect: { that: "this.json.count == 3 && this.attempts == 3" },
        },
        {
          use: "sh",
          run: ["true"],
          expect: { that: "steps.poll.attempts == 3 && steps.poll.json.count == 3" },
        },
        { name: "never", use: "sh", run: "exit 1", retry: { times: 2, every: "1ms" } },
      ],
    });
    const { run, end } = await ran(pipeline);
    assert.deepEqual(end, {
      kind: "failed",
      message: "never: exited with 1, expected 0; it printed nothing",
    });
    const attempts = run.told.flatMap(({ step }) => (step.status === "running" ? [] : [step.attempts]));
    assert.deepEqual(attempts, [3, undefined, 2]);
    assert.deepEqual(
      run.artifacts.map(({ index }) => index),
      [0],
    );
    assert.match(logOf(run), /attempt 1 of 5 failed: .*: 1 and 3\n[\s\S]*attempt 2 of 5\n/);
  });

  it("tries no step again that lacks a value: it would be lacking each time", async () => {
    const retry = { times: 3, every: "1h" };
    const pipeline = pipelineOf({
      resources,
      steps: [
        { id: "a", use: "sh", run: "echo '{}'" },
        { name: "x", use: "sh", run: ["echo", "${{ steps.a.json.id }}"], retry, "on-failure": "continue" },
        { name: "y", use: "sh", run: ["echo", "${{ env.ABSENT }}"], retry },
      ],
    });
    const { run, end } = await ran(pipeline, { env: {} });
    assert.deepEqual(end, {
      kind: "failed",
      message: "x: steps.a.json.id isn't there; steps.a.json is empty",
    });
    const attempts = run.told.flatMap(({ step }) => (step.status === "failed" ? [step.attempts] : []));
    assert.deepEqual(attempts, [1, 1]);
  });

  it("stops trying when the next attempt would begin too late", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [{ name: "x", use: "sh", run: "exit 1", retry: { for: "1ms", every: "1h" } }],
    });
    assert.equal((await ran(pipeline)).end.kind, "failed");
  });

  it("ends a pause between attempts when the run is ended", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [{ name: "x", use: "sh", run: "exit 1", retry: { times: 2, every: "1h" } }],
    });
    const run = launchTestRun(folder.path, pipeline, {
      onOutput: ({ text }) => void (text.includes("failed") && run.job.stop()),
    });
    assert.deepEqual(await run.job.ended, { kind: "stopped" });
  });

  it("begins no attempt once the run is to clean up", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [{ name: "x", use: "sh", run: "exit 1", retry: { times: 2, every: "1h" } }],
      finally: [{ name: "tidy", use: "sh", run: "true" }],
    });
    const run: TestRun = launchTestRun(folder.path, pipeline, {
      onOutput: ({ text }) => void (text.includes("attempt 1 of 2 failed") && run.job.stop(60_000)),
    });
    assert.deepEqual(await run.job.ended, { kind: "stopped" });
    assert.deepEqual(
      run.told
        .filter(({ step }) => step.status !== "running")
        .map(({ step }) => [step.status, step.attempts]),
      [
        ["stopped", 1],
        ["succeeded", undefined],
      ],
    );
  });

  it("goes on behind a failure that is allowed, and fails in the end with the first", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [
        { name: "a", use: "sh", run: "exit 1", "on-failure": "continue" },
        { name: "b", use: "sh", run: "true" },
        { name: "c", use: "sh", run: "exit 2", "on-failure": "continue" },
      ],
      outputs: { x: 1 },
    });
    const { run, end } = await ran(pipeline);
    assert.deepEqual(end, { kind: "failed", message: "a: exited with 1, expected 0; it printed nothing" });
    assert.deepEqual(
      endsOf(run).map(([name, status]) => `${name} ${status}`),
      ["a failed", "b succeeded", "c failed"],
    );
    assert.deepEqual(run.kept, []);
  });

  it("needs no more of what is too large than a sentence", async () => {
    const pipeline = pipelineOf({
      resources,
      steps: [
        { id: "big", use: "sh", run: "head -c 11000000 /dev/zero | tr '\\0' x" },
        { name: "code", use: "sh", run: ["true"], expect: { that: "steps.big.exit-code == 0" } },
        { name: "text", use: "sh", run: ["true"], expect: { that: "exists(steps.big.stdout)" } },
      ],
    });
    assert.deepEqual((await ran(pipeline)).end, {
      kind: "failed",
      message: "text: `stdout` isn't there: it is larger than 10 MB, the most that is kept of one",
    });
  });

  it("says which inputs a run lacks, and what is too large to keep", async () => {
    const inputs = { count: { type: "number", default: "${{ env.COUNT }}" } };
    const steps = [{ use: "sh", run: "true" }];
    const lacking = pipelineOf({ inputs, resources, steps });
    assert.deepEqual((await ran(lacking, { env: { ...process.env, COUNT: "5" } })).end, {
      kind: "failed",
      message: "the input `count` takes a number, and it is given a text",
    });
    const large = pipelineOf({
      resources,
      steps: [{ id: "a", use: "sh", run: "head -c 70000 /dev/zero | tr '\\0' x" }],
      outputs: { a: "${{ steps.a.stdout }}" },
    });
    assert.deepEqual((await ran(large)).end, {
      kind: "failed",
      message: "the outputs have 70008 bytes as JSON, and at most 65536 are kept",
    });
    const absent = pipelineOf({ resources, steps, outputs: { one: 1, two: "${{ env.ABSENT }}" } });
    const { end } = await ran(absent);
    assert.match(end.kind === "failed" ? (end.message ?? "") : "", /^output `two`: .*ABSENT/);
  });

  describe("that is in a part", () => {
    function withPart(main: object, part: object, more: object = {}): Pipeline {
      const files = new Map([
        ["part.yaml", part],
        ["more.yaml", more],
      ]);
      const parsed = parsePipeline(JSON.stringify(main), "main.yaml", (path) => {
        const file = files.get(path);
        return file && { kind: "read", text: JSON.stringify(file) };
      });
      if (parsed.kind === "invalid") assert.fail(JSON.stringify(parsed.problems));
      return parsed.pipeline;
    }
    const greeting = {
      inputs: { who: { type: "text" }, times: 1 },
      resources,
      steps: [
        { id: "one", name: "one", use: "sh", run: ["echo", "${{ inputs.who }} x${{ inputs.times }}"] },
        { name: "two", use: "sh", run: ["sh", "-c", 'test "$1" != bad', "sh", "${{ inputs.who }}"] },
      ],
      finally: [{ name: "tidy", use: "sh", run: ["echo", "tidy ${{ steps.one.stdout }}"] }],
      outputs: { said: "${{ steps.one.stdout }}" },
    };

    it("has inputs, steps and outputs of its own", async () => {
      const pipeline = withPart(
        {
          resources,
          steps: [
            { id: "one", name: "first", use: "sh", run: "echo me" },
            { id: "a", include: "part.yaml", inputs: { who: "${{ steps.one.stdout }}" } },
            { id: "b", include: "part.yaml", inputs: { who: "you", times: 2 } },
            {
              name: "last",
              use: "sh",
              run: ["echo", "${{ steps.a.said }}, ${{ steps.b.said }}, ${{ steps.a.outcome }}"],
              expect: { output: "me x1, you x2, succeeded" },
            },
          ],
        },
        greeting,
      );
      const { run, end } = await ran(pipeline);
      assert.deepEqual(end, { kind: "succeeded" });
      for (const tidied of ["tidy me x1\n", "tidy you x2\n"]) assert.ok(logOf(run).includes(tidied));
    });

    it("is skipped with all its steps, and what it would tidy up", async () => {
      const pipeline = withPart(
        {
          inputs: { on: false },
          resources,
          steps: [
            { id: "a", if: "inputs.on", include: "part.yaml", inputs: { who: "x" } },
            { name: "last", use: "sh", run: ["true"], expect: { that: "steps.a.outcome == 'skipped'" } },
          ],
        },
        greeting,
      );
      const { run, end } = await ran(pipeline);
      assert.deepEqual(end, { kind: "succeeded" });
      assert.deepEqual(endsOf(run), [
        ["a: one", "skipped"],
        ["a: two", "skipped"],
        ["last", "succeeded"],
        ["a: tidy", "skipped"],
      ]);
    });

    it("is given up at its failure, behind which the run may go on", async () => {
      const broken = { ...greeting, steps: [greeting.steps[1], greeting.steps[0]] };
      const pipeline = withPart(
        {
          resources,
          steps: [
            { id: "a", include: "part.yaml", inputs: { who: "bad" }, "on-failure": "continue" },
            {
              name: "last",
              use: "sh",
              run: ["true"],
              expect: { that: "steps.a.outcome == 'failed' && !exists(steps.a.said)" },
            },
          ],
        },
        broken,
      );
      const { run, end } = await ran(pipeline);
      assert.deepEqual(end, {
        kind: "failed",
        message: "a: two: exited with 1, expected 0; it printed nothing",
      });
      assert.deepEqual(
        endsOf(run).map(([name, status]) => `${name} ${status}`),
        ["a: two failed", "a: one skipped", "last succeeded", "a: tidy failed"],
      );
    });

    it("cleans up in `finally`, all of it, with inputs, outputs and a cleanup of its own", async () => {
      const pipeline = withPart(
        {
          inputs: { no: false },
          resources,
          steps: [
            { id: "made", name: "made", use: "sh", run: "echo 7" },
            { name: "fails", use: "sh", run: "exit 1" },
          ],
          finally: [
            { id: "bad", include: "part.yaml", inputs: { who: "bad" } },
            { id: "a", include: "part.yaml", inputs: { who: "${{ steps.made.stdout }}" } },
            { if: "inputs.no", include: "part.yaml", inputs: { who: "x" } },
            { include: "part.yaml", inputs: { who: "x", times: "${{ steps.made.stdout }}" } },
            {
              ...{ name: "last", use: "sh", run: ["true"] },
              expect: {
                that: "steps.a.said == '7 x1' && steps.bad.outcome == 'failed' && steps.bad.said == 'bad x1'",
              },
            },
          ],
        },
        greeting,
      );
      const { run, end } = await ran(pipeline);
      assert.equal(end.kind, "failed");
      assert.deepEqual(
        endsOf(run).map(([name, status]) => `${name} ${status}`),
        [
          ...["made succeeded", "fails failed"],
          ...["bad: one succeeded", "bad: two failed", "bad: tidy succeeded"],
          ...["a: one succeeded", "a: two succeeded", "a: tidy succeeded"],
          ...["part.yaml: one skipped", "part.yaml: two skipped", "part.yaml: tidy skipped"],
          ...["part.yaml: one failed", "part.yaml: two skipped", "part.yaml: tidy skipped"],
          "last succeeded",
        ],
      );
    });

    it("cleans up by another part only where it has begun", async () => {
      const including = {
        ...greeting,
        finally: [{ include: "more.yaml", inputs: { who: "${{ steps.one.stdout }}" } }],
      };
      const { finally: _, ...more } = { ...greeting, steps: greeting.steps.slice(0, 1) };
      const pipeline = withPart(
        {
          inputs: { no: false },
          resources,
          steps: [
            { include: "part.yaml", inputs: { who: "bad" } },
            { if: "inputs.no", include: "part.yaml", inputs: { who: "x" } },
          ],
        },
        including,
        more,
      );
      const { run } = await ran(pipeline);
      assert.ok(logOf(run).includes("bad x1 x1\n"));
      assert.deepEqual(
        endsOf(run).map(([name, status]) => `${name} ${status}`),
        [
          ...["part.yaml: one succeeded", "part.yaml: two failed"],
          ...["part.yaml: one not-reached", "part.yaml: two not-reached"],
          ...["more.yaml: one skipped", "more.yaml: one succeeded"],
        ],
      );
    });

    it("fails where what it is given isn't of its inputs' types", async () => {
      const pipeline = withPart(
        {
          resources,
          steps: [
            { include: "part.yaml", inputs: { who: "x", times: "${{ env.HOME }}" } },
            { name: "last", use: "sh", run: "true" },
          ],
        },
        greeting,
      );
      const { run, end } = await ran(pipeline);
      const message = "the input `times` takes a number, and it is given a text";
      assert.deepEqual(end, { kind: "failed", message: `part.yaml: one: ${message}` });
      assert.deepEqual(endsOf(run), [
        ["part.yaml: one", "failed", message],
        ["part.yaml: two", "not-reached"],
        ["last", "not-reached"],
        ["part.yaml: tidy", "skipped"],
      ]);
    });
  });
});
