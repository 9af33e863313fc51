import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import type { InputValues } from "../../../src/contract/pipelines.ts";
import { formatProblem } from "../../../src/pipeline/mistakes/problem.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { shownPipelines } from "../../pipeline/shownPipelines.ts";
import { type LaunchChanges, launchTestRun, type TestRun } from "../../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const root = fileURLToPath(new URL("../../../samples", import.meta.url));

describe("the samples", () => {
  const folder = temporaryFolder();

  it("are all pipelines that can be run", () => {
    for (const file of readdirSync(join(root, "pipelines"))) assert.equal(`${sample(file).name}.yaml`, file);
  });

  for (const file of readdirSync(join(root, "pipelines")).filter((name) => name !== "nightly.yaml")) {
    it(`${file} succeeds, with no network, no inputs and no node on the PATH`, async () => {
      const { job } = launch(file, {
        env: { PATH: process.platform === "win32" ? process.env["PATH"] : "/nowhere" },
      });
      assert.deepEqual(await job.ended, { kind: "succeeded" });
    });
  }

  it("lamps wraps a gift only when it is one", async () => {
    const { job, told } = launch("lamps.yaml", {}, { lamp: "floor lamp", count: 3, gift: true });
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    assert.equal(told.at(-1)?.step.status, "succeeded");
    const without = launch("lamps.yaml");
    assert.deepEqual(await without.job.ended, { kind: "succeeded" });
    assert.equal(without.told.at(-1)?.step.status, "skipped");
  });

  it("tidy takes its order back also when it is stopped", async () => {
    const seen: string[] = [];
    const { job } = launch("tidy.yaml", {
      onStep: ({ name, status }) => {
        seen.push(`${name}: ${status}`);
        if (name === "look at the order") job.stop(5000);
      },
    });
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.equal(seen.at(-1), "take the order back: succeeded");
  });

  it("checkout succeeds with all four types of resource, and keeps what the browser saw", async () => {
    await ensureChromium(sayToStandardError, new AbortController().signal);
    const { job, artifacts } = launch("checkout.yaml", {}, { visit: true });
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    const types = sample("checkout.yaml").steps.map(({ type }) => type);
    assert.deepEqual([...new Set(types)].sort(), ["browser", "cli", "http", "sql"]);
    assert.ok(artifacts.some(({ name, mediaType }) => name === "found.png" && mediaType === "image/png"));
  });

  it("shop closes with its run, so that it can be run again at once", async () => {
    for (let round = 0; round < 2; round += 1) {
      const { job } = launch("shop.yaml");
      assert.deepEqual(await job.ended, { kind: "succeeded" });
      await assert.rejects(fetch("http://127.0.0.1:47391/health"));
    }
  });

  it("nightly can be stopped in the middle", async () => {
    const started = Promise.withResolvers<void>();
    const { job } = launch("nightly.yaml", { onStep: () => started.resolve() });
    await started.promise;
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
  });

  for (const [index, text] of tutorial().entries()) {
    it(`pipeline ${index + 1} of the tutorial succeeds among the samples`, async () => {
      const { job } = run(pipelineOf(text, "tutorial.yaml"));
      assert.deepEqual(await job.ended, { kind: "succeeded" });
    });
  }

  function launch(file: string, changes: LaunchChanges = {}, inputs: InputValues = {}): TestRun {
    return run(sample(file), changes, inputs);
  }

  /** Runs a pipeline in the folder of the samples; what it keeps goes elsewhere. */
  function run(pipeline: Pipeline, changes: LaunchChanges = {}, inputs: InputValues = {}): TestRun {
    const startedAt = new Date().toISOString();
    return launchTestRun(root, pipeline, changes, join(folder.path, "artifacts"), { inputs, startedAt });
  }
});

/** The pipelines of the page that begins as a tutorial, but for its parts. */
function tutorial(): readonly string[] {
  const page = shownPipelines().find(({ file }) => file === "docs/pipeline-file.md");
  return page?.pipelines.filter((text) => !text.startsWith("# parts/")) ?? [];
}

function sample(file: string): Pipeline {
  return pipelineOf(readFileSync(join(root, "pipelines", file), "utf8"), file);
}

function pipelineOf(text: string, file: string): Pipeline {
  const parsed = parsePipeline(text, file, (part) => ({
    kind: "read",
    text: readFileSync(join(root, part), "utf8"),
  }));
  if (parsed.kind === "invalid")
    assert.fail(parsed.problems.map((problem) => formatProblem(file, problem)).join("\n"));
  return parsed.pipeline;
}
