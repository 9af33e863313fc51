import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureChromium } from "../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../scripts/say.ts";
import { formatProblem } from "../../../src/pipeline/mistakes/problem.ts";
import { parsePipeline } from "../../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { type LaunchChanges, launchTestRun, type TestRun } from "../../runner/launch/launchTestRun.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const root = fileURLToPath(new URL("../../../samples", import.meta.url));

describe("the samples", function () {
  this.timeout(60_000);
  const folder = temporaryFolder();

  it("are all pipelines that can be run", () => {
    for (const file of readdirSync(join(root, "pipelines"))) assert.equal(`${sample(file).name}.yaml`, file);
  });

  for (const name of ["hello", "shop", "orders"]) {
    it(`${name} succeeds, with no network and no node on the PATH`, async () => {
      const { job } = launch(`${name}.yaml`, {
        env: { PATH: process.platform === "win32" ? process.env["PATH"] : "/nowhere" },
      });
      assert.deepEqual(await job.ended, { kind: "succeeded" });
    });
  }

  it("checkout succeeds with all four types of resource, and keeps what the browser saw", async () => {
    await ensureChromium(sayToStandardError, new AbortController().signal);
    const { job, artifacts } = launch("checkout.yaml");
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

  /** Runs a sample where it stands; what it keeps goes elsewhere. */
  function launch(file: string, changes: LaunchChanges = {}): TestRun {
    return launchTestRun(root, sample(file), changes, join(folder.path, "artifacts"));
  }
});

function sample(file: string): Pipeline {
  const parsed = parsePipeline(readFileSync(join(root, "pipelines", file), "utf8"), file);
  if (parsed.kind === "invalid")
    assert.fail(parsed.problems.map((problem) => formatProblem(file, problem)).join("\n"));
  return parsed.pipeline;
}
