import assert from "node:assert/strict";
import { join } from "node:path";
import type { Run } from "../../../src/contract/run.ts";
import { exampleName, problemOfNewPipeline } from "../../../src/extension/commands/newPipelineName.ts";
import { lensesOf, waitOf } from "../../../src/extension/files/lenses.ts";
import { readRunArgument } from "../../../src/extension/start/runArgument.ts";
import { pipelineOf } from "../../runner/launch/launchTestRun.ts";

const now = Date.parse("2026-11-21T10:00:00Z");
const none = { active: undefined, last: undefined, judged: undefined };

describe("what stands above a pipeline file", () => {
  it("runs the pipeline of its project", () => {
    const [run, ...others] = lenses({});
    assert.equal(run?.title, "$(play) Run");
    assert.equal(run?.command, "pipelineRuns.run");
    assert.deepEqual(run?.arguments, [{ pipeline: "nightly", project: "work" }]);
    assert.deepEqual(others, []);
  });

  it("tells of a start that waits above the file of its own project alone", () => {
    const [ofWork, ofOther, ofAny] = ["work", "other", undefined].map((project) => ({
      ...{ pipeline: "nightly", project, secondsLeft: 60 },
    }));
    assert(ofWork && ofOther && ofAny);
    assert.equal(waitOf([ofOther, ofWork], "nightly", "work"), ofWork);
    assert.equal(waitOf([ofOther], "nightly", "work"), undefined);
    assert.equal(waitOf([ofAny], "nightly", "work"), ofAny);
    assert.equal(waitOf([ofWork], "smoke", "work"), undefined);
  });

  it("runs the very file, since another project may have the name by which its own is called here", () => {
    const file = { root: "/second/work", path: "pipelines/tonight.yaml" };
    const [run] = lenses({ file });
    assert.deepEqual(readRunArgument(run?.arguments[0]), {
      kind: "file",
      path: join(file.root, file.path),
      pipeline: "nightly",
    });
  });

  it("cancels a run that is active, and shows one that is being cancelled", () => {
    const titles = (status: string) =>
      lenses({ runs: { ...none, active: run("run_1", status) } }).map(({ title }) => title);
    assert.deepEqual(titles("running"), ["$(debug-stop) Cancel", "$(loading~spin) running"]);
    assert.deepEqual(titles("cancelling"), ["$(loading~spin) cancelling"]);
    const [cancel, log] = lenses({ runs: { ...none, active: run("run_1", "running") } });
    assert.deepEqual([cancel?.command, cancel?.arguments], ["pipelineRuns.cancel", [{ runId: "run_1" }]]);
    assert.deepEqual([log?.command, log?.arguments], ["pipelineRuns.openLog", [{ runId: "run_1" }]]);
  });

  it("tells in how many seconds a wait gives up", () => {
    const [waiting] = lenses({ wait: { pipeline: "nightly", secondsLeft: 87 } });
    assert.equal(waiting?.title, "$(watch) waiting; gives up in 87 s");
  });

  it("tells the last result, how long ago it was and the step that failed, and leads to its log", () => {
    const last = run("run_1", "failed");
    const steps = [
      { name: "build", type: "cli", status: "succeeded" },
      { name: "unit $(flame) tests", type: "cli", status: "failed" },
    ];
    const [, result] = lenses({ runs: { ...none, last: { ...last, steps } } });
    assert.equal(result?.title, "$(error) failed 2 min ago: unit $ (flame) tests");
    assert.deepEqual([result?.command, result?.arguments], ["pipelineRuns.openLog", [{ runId: "run_1" }]]);
    const [, , from] = lenses({ runs: { ...none, last: { ...last, steps } } });
    const alike = steps.map((step) => ({ ...step, name: "build" }));
    const [, , second] = lenses({ runs: { ...none, last: { ...last, steps: alike } } });
    assert.deepEqual(second?.arguments, [
      { pipeline: "nightly", project: "work", fromStep: "2", inputs: {} },
    ]);
    assert.equal(from?.title, "$(debug-continue) Run from unit $ (flame) tests");
    assert.deepEqual(from?.arguments, [
      { pipeline: "nightly", project: "work", fromStep: "unit $(flame) tests", inputs: {} },
    ]);
    const given = { ...last, steps, inputs: { lamps: 2 } };
    const [, , same] = lenses({ runs: { ...none, last: given } });
    assert.deepEqual(same && readRunArgument(same.arguments[0]), {
      kind: "named",
      start: {
        pipeline: "nightly",
        project: "work",
        timeLimitSeconds: undefined,
        fromStep: "unit $(flame) tests",
        inputs: { lamps: 2 },
      },
    });
  });

  it("asks for the inputs of a file that declares some", () => {
    const file = { root: "/work", path: "pipelines/nightly.yaml" };
    const pipelineNow = pipelineOf({
      inputs: { lamps: 2 },
      resources: { sh: { type: "cli" } },
      steps: [{ use: "sh", run: "true" }],
    });
    const [run, withInputs, ...others] = lenses({ file, pipelineNow });
    assert.equal(withInputs?.title, "Run with Inputs…");
    assert.equal(withInputs?.command, "pipelineRuns.runWithInputs");
    assert.deepEqual(withInputs?.arguments, run?.arguments);
    assert.deepEqual(others, []);
  });

  it("begins at no step behind one whose program in the background ended with its run", () => {
    const last = run("run_1", "failed");
    const steps = [
      { name: "serve", type: "cli", status: "succeeded" },
      { name: "ask", type: "cli", status: "failed" },
    ];
    const count = (serve: string) =>
      lenses({
        runs: { ...none, last: { ...last, steps } },
        pipelineNow: pipelineOf({
          resources: { sh: { type: "cli" } },
          steps: [
            { use: "sh", name: "serve", run: serve },
            { use: "sh", name: "ask", run: "false" },
          ],
        }),
      }).length;
    assert.equal(count("node server.mjs"), 3);
    assert.equal(count("node server.mjs &"), 2);
  });

  it("tells of a time that has passed no more than it knows", () => {
    const title = (stoppedAt: string) =>
      lenses({ runs: { ...none, last: run("run_1", "succeeded", stoppedAt) } })[1]?.title;
    assert.equal(title("2026-11-21T10:00:09Z"), "$(pass) succeeded just now");
    assert.equal(title("2026-11-21T09:59:30Z"), "$(pass) succeeded just now");
    assert.equal(title("2026-11-21T07:30:00Z"), "$(pass) succeeded 2 h ago");
    assert.equal(title("2026-11-18T07:30:00Z"), "$(pass) succeeded 3 d ago");
  });

  it("tells of the file's problems", () => {
    assert.equal(lenses({ problems: 1 }).at(-1)?.title, "$(warning) 1 problem");
    assert.equal(lenses({ problems: 2 }).at(-1)?.title, "$(warning) 2 problems");
  });

  it("offers to run no file that has problems, and shows what is active all the same", () => {
    const titles = (given: Parameters<typeof lenses>[0]) =>
      lenses({ problems: 1, ...given }).map(({ title }) => title);
    assert.deepEqual(titles({}), ["$(warning) 1 problem"]);
    const active = run("run_1", "running");
    assert.deepEqual(titles({ runs: { ...none, active } }), [
      "$(debug-stop) Cancel",
      "$(loading~spin) running",
      "$(warning) 1 problem",
    ]);
  });
});

describe("the name of a new pipeline", () => {
  it("has an example that is no file's name yet", () => {
    assert.equal(exampleName([]), "nightly");
    assert.equal(exampleName(["a", "Nightly"]), "smoke");
    assert.equal(exampleName(["nightly", "smoke", "release", "deploy"]), "");
  });

  it("is one that a pipeline can have, and no other file's", () => {
    for (const name of ["nightly", "a.b-c_1", "Nightly2", "nightly.yaml"]) {
      assert.equal(problemOfNewPipeline(name, ["other"]), undefined, name);
    }
    for (const name of [
      "",
      "  ",
      "../x",
      "a/b",
      "a\\b",
      ".hidden",
      "-x",
      "a b",
      "con",
      "COM1",
      "x.yml",
      "x".repeat(201),
    ]) {
      assert.notEqual(problemOfNewPipeline(name, []), undefined, name);
    }
    assert.match(
      problemOfNewPipeline("Nightly", ["nightly"]) ?? "",
      /pipelines\/nightly\.yaml already exists/,
    );
  });
});

function lenses(given: Partial<Parameters<typeof lensesOf>[0]>) {
  return lensesOf({
    pipeline: "nightly",
    project: "work",
    problems: 0,
    runs: none,
    pipelineNow: undefined,
    file: undefined,
    wait: undefined,
    now,
    ...given,
  });
}

function run(runId: string, status: string, stoppedAt = "2026-11-21T09:57:40Z"): Run {
  return {
    runId,
    status,
    pipeline: "nightly",
    project: "work",
    actor: "key_1",
    runner: "local",
    createdAt: "2026-11-21T09:57:00Z",
    timeLimitSeconds: 30,
    stoppedAt,
  };
}
