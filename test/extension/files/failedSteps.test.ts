import assert from "node:assert/strict";
import { PipelineError } from "../../../src/contract/errors.ts";
import type { Run } from "../../../src/contract/run.ts";
import { analyse } from "../../../src/extension/files/analyses.ts";
import { type FailedStep, failedSteps } from "../../../src/extension/files/failedSteps.ts";
import type { RunListState } from "../../../src/extension/session/runList.ts";
import { memoryMemento } from "../memoryMemento.ts";

const text = `resources: { shell: { type: cli } }
steps:
  - name: unit tests
    use: shell
    run: npm test
  - { use: shell, run: deploy }
`;
const uri = "file:///shop/pipelines/nightly.yaml";

describe("the failed step of a pipeline's last run", () => {
  it("is told on its line, with why it failed, on one line", async () => {
    const { failed, shown, look } = watch([run({ runId: "run_1", status: "failed" })]);
    look();
    await settled();
    assert.deepEqual(shown.get(uri), {
      runId: "run_1",
      pipeline: "nightly",
      message: "unit tests: exited with 1, expected 0: 3 of 7 failed",
      from: { line: 2, character: 10 },
      to: { line: 2, character: 20 },
    });
    failed.dispose();
  });

  it("is told once for each run, however often the list changes, and of no other pipeline", async () => {
    const { shown, asked, look } = watch([
      run({ runId: "run_3", status: "failed", project: "other" }),
      run({ runId: "run_2", status: "failed", pipeline: "hourly" }),
      run({ runId: "run_1", status: "failed" }),
    ]);
    look();
    look();
    await settled();
    look();
    assert.deepEqual(asked, ["run_1"]);
    assert.equal(shown.get(uri)?.runId, "run_1");
  });

  it("stays while a later run is active or was cancelled, and goes when one succeeds", async () => {
    const first = run({ runId: "run_1", status: "failed" });
    const { shown, look } = watch([first]);
    look();
    await settled();
    look([run({ runId: "run_3", status: "running" }), run({ runId: "run_2", status: "cancelled" }), first]);
    assert.equal(shown.get(uri)?.runId, "run_1");
    look([run({ runId: "run_4", status: "succeeded" }), first]);
    assert.equal(shown.get(uri), undefined);
  });

  it("moves with its step, and goes when the step is edited, also in a window loaded anew", async () => {
    const memento = memoryMemento();
    const runs = [run({ runId: "run_1", status: "failed" })];
    const first = watch(runs, memento);
    first.look();
    await settled();
    first.look(runs, `# a line more\n${text}`);
    assert.equal(first.shown.get(uri)?.from.line, 3);
    first.look(runs, text.replace("run: deploy", "run: other"));
    assert.equal(first.shown.get(uri)?.from.line, 2);
    const edited = text.replace("npm test", "npm run test");
    first.look(runs, edited);
    assert.equal(first.shown.get(uri), undefined);
    const second = watch(runs, memento);
    second.look(runs, edited);
    await settled();
    assert.equal(second.shown.get(uri), undefined);
    second.look(runs, text);
    assert.equal(second.shown.get(uri)?.runId, "run_1");
    assert.ok(!JSON.stringify([...memento.kept]).includes("npm"));
  });

  it("is found by its name where the steps stand otherwise, and not where there is none of it", async () => {
    const { shown, look } = watch([run({ runId: "run_1", status: "failed" })]);
    const moved = text.replace("steps:\n", "steps:\n  - { use: shell, run: first }\n");
    look(undefined, moved);
    await settled();
    assert.equal(shown.get(uri)?.from.line, 3);
    look(undefined, text.replace("unit tests", "all tests"));
    assert.equal(shown.get(uri), undefined);
  });

  it("has nothing in it that could disguise what is on the screen", async () => {
    const steps = [
      {
        name: "unit tests",
        type: "cli",
        status: "failed",
        message: "\u001b[31mred\u202e\nand a second line",
      },
    ];
    const { shown, look } = watch([run({ runId: "run_1", status: "failed", steps })]);
    look();
    assert.equal(shown.get(uri)?.message, "unit tests: [31mred and a second line");
  });

  it("is asked for once of each of many pipelines, one after the other", async () => {
    const names = Array.from({ length: 90 }, (_, index) => `many-${index}`);
    const runs = names.map((pipeline) => run({ runId: `run_${pipeline}`, pipeline, status: "failed" }));
    const asked: string[] = [];
    let [atOnce, most] = [0, 0];
    const shown = new Map<string, FailedStep | undefined>();
    const analysis = analyse(text, "any.yaml");
    const files = new Map(names.map((pipeline) => [pipeline, { pipeline, project: "work", analysis }]));
    const update = () =>
      failed.update({ kind: "listed", runs, hasMore: false, me: "key_1", clockAhead: 0 }, files);
    const failed = failedSteps({
      readSteps: async (runId) => {
        asked.push(runId);
        atOnce += 1;
        most = Math.max(most, atOnce);
        await settled();
        atOnce -= 1;
        const index = runs.findIndex((one) => one.runId === runId);
        const steps = [{ name: "unit tests", type: "cli", status: "failed" }];
        runs[index] = { ...(runs[index] ?? assert.fail(runId)), steps };
        update();
      },
      memento: memoryMemento(),
      show: (address, step) => shown.set(address, step),
      log: { warn: (text) => assert.fail(text) },
    });
    update();
    failed.update({ kind: "unknown" }, files);
    update();
    do await settled();
    while (atOnce > 0);
    assert.deepEqual(
      asked,
      runs.map(({ runId }) => runId),
    );
    assert.equal(most, 1);
    assert.equal([...shown.values()].filter((step) => step !== undefined).length, names.length);
    failed.dispose();
  });

  it("is asked for once of a service that tells no steps", async () => {
    const { asked, look } = watch([run({ runId: "run_1", status: "failed" })], undefined, []);
    for (let looks = 0; looks < 3; looks++) {
      look();
      await settled();
    }
    assert.deepEqual(asked, ["run_1"]);
  });

  it("is asked for again when it couldn't be had", async () => {
    const { shown, asked, look, fail } = watch([run({ runId: "run_1", status: "timed-out" })]);
    fail(new PipelineError("out-of-reach", "no service"));
    look();
    await settled();
    assert.equal(shown.get(uri), undefined);
    fail(undefined);
    look();
    await settled();
    assert.equal(asked.length, 2);
    assert.equal(shown.get(uri)?.runId, "run_1");
  });
});

const toldSteps = [
  { name: "unit tests", type: "cli", status: "failed", message: "exited with 1, expected 0: 3 of 7\nfailed" },
];

/** @param told the steps that the service tells; none for a service that tells none. */
function watch(given: readonly Run[], memento = memoryMemento(), told = toldSteps) {
  const shown = new Map<string, FailedStep | undefined>();
  const asked: string[] = [];
  /** The runs whose steps were read into the list. */
  const read = new Map<Run, Run>();
  let [runs, written] = [given, text];
  let fault: Error | undefined;
  const failed = failedSteps({
    readSteps: async (runId) => {
      asked.push(runId);
      if (fault !== undefined) throw fault;
      const known = given.find((one) => one.runId === runId) ?? assert.fail(runId);
      if (told.length > 0) read.set(known, { ...known, steps: told });
      look(runs, written);
    },
    memento,
    show: (address, step) => shown.set(address, step),
    log: { warn: () => {} },
  });
  const look = (list: readonly Run[] = given, edited = text) => {
    [runs, written] = [list, edited];
    const listed = list.map((one) => read.get(one) ?? one);
    const state: RunListState = { kind: "listed", runs: listed, hasMore: false, me: "key_1", clockAhead: 0 };
    const analysis = analyse(edited, "nightly.yaml");
    failed.update(state, new Map([[uri, { pipeline: "nightly", project: "work", analysis }]]));
  };
  const fail = (error: Error | undefined) => {
    fault = error;
  };
  return { failed, shown, asked, look, fail };
}

function run(given: Partial<Run> & Pick<Run, "runId" | "status">): Run {
  return {
    pipeline: "nightly",
    project: "work",
    actor: "key_1",
    runner: "local",
    createdAt: "2026-11-21T10:00:00Z",
    timeLimitSeconds: 30,
    ...(given.status === "running" ? {} : { stoppedAt: "2026-11-21T10:00:10Z" }),
    ...given,
  };
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
