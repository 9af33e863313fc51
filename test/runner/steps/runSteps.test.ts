import assert from "node:assert/strict";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { RunOutput } from "../../../src/runner/step/runOutput.ts";
import { runSteps } from "../../../src/runner/steps/runSteps.ts";
import { openScopes } from "../../../src/runner/steps/scopes.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

describe("the steps of a run", function () {
  this.timeout(60_000);
  const folder = temporaryFolder();

  it("look through the file once where a secret that no variable holds is hidden within words", async () => {
    const mask = new Mask(["prod"]);
    assert.equal(mask.hide("product"), "***uct");
    const { stepContext, end } = stepContextFor(folder.path, { mask });
    const steps = ["a", "b", "c", "d"].map((name) => ({ name, use: "sh", run: ["node", "--version"] }));
    let looks = 0;
    const pipeline = {
      ...pipelineOf({ resources: { sh: { type: "cli" } }, steps }),
      get tags() {
        looks += 1;
        return [];
      },
    };
    const now = () => new Date();
    const job = {
      ...{ runId: "run_1", root: folder.path, artifactsFolder: folder.path, graceMilliseconds: 0 },
      pipeline,
    };
    const { scopes, isNeeded } = await openScopes(job, () => undefined, { run: {}, now, uuid: () => "" });
    const sent: unknown[] = [];
    looks = 0;
    await runSteps(job, {
      ...{ stepContext, scopes, isNeeded, now },
      output: new RunOutput({ send: () => {}, now, mask, artifactsFolder: folder.path }),
      send: (message) => message.kind === "step" && sent.push(message.status),
      isAnythingRunning: async () => false,
      isGroup: () => false,
      cleaningUp: new AbortController().signal,
      cleanUpUntil: () => Number.POSITIVE_INFINITY,
    });
    await end();
    assert.deepEqual([sent.filter((status) => status === "succeeded").length, looks], [4, 1]);
  });
});
