// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import assert from "node:assert/strict";
import type { Pipeline } from "../../../src/pipeline/pipeline.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { RunOutput } from "../../../src/runner/step/runOutput.ts";
import { runSteps } from "../../../src/runner/steps/runSteps.ts";
import { openScopes } from "../../../src/runner/steps/scopes.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { pipelineOf } from "../launch/launchTestRun.ts";
import { stepContextFor } from "../step/stepContextFor.ts";

describe("the steps of a run", () => {
  const folder = temporaryFolder();

  /** How the steps of a run went. @param opened is called before they begin. */
  async function statuses(
    pipeline: Pipeline,
    mask: Mask,
    { opened, variable = () => undefined }: { opened: () => void; variable?: () => string | undefined },
  ) {
    const { stepContext, end } = stepContextFor(folder.path, { mask });
    const now = () => new Date();
    const job = {
      ...{ runId: "run_1", root: folder.path, artifactsFolder: folder.path, graceMilliseconds: 0 },
      pipeline,
    };
    const { scopes, isNeeded } = await openScopes(job, variable, { run: {}, now, uuid: () => "" });
    const sent: (readonly [string, string | undefined])[] = [];
    opened();
    await runSteps(job, {
      ...{ stepContext, scopes, isNeeded, now },
      output: new RunOutput({ send: () => {}, now, mask, artifactsFolder: folder.path }),
      send: (message) => message.kind === "step" && sent.push([message.status, message.message]),
      isAnythingRunning: async () => false,
      isGroup: () => false,
      cleaningUp: new AbortController().signal,
      cleanUpUntil: () => Number.POSITIVE_INFINITY,
    });
    await end();
    return sent.filter(([status]) => status !== "running");
  }

  it("look through the file once where a secret that no variable holds is hidden within words", async () => {
    const mask = new Mask(["prod"]);
    assert.equal(mask.hide("product"), "***uct");
    const steps = ["a", "b", "c", "d"].map((name) => ({ name, use: "sh", run: ["node", "--version"] }));
    let looks = 0;
    const pipeline = {
      ...pipelineOf({ resources: { sh: { type: "cli" } }, steps }),
      get tags() {
        looks += 1;
        return [];
      },
    };
    const sent = await statuses(pipeline, mask, {
      opened: () => {
        looks = 0;
      },
    });
    assert.deepEqual([sent.filter(([status]) => status === "succeeded").length, looks], [4, 1]);
  });

  it("end by an unforeseen error only the step that is filled in, and clean up behind it", async () => {
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [
        { name: "a", use: "sh", run: ["node", "${{ env.ODD }}"], retry: { times: 3, every: "1h" } },
        { name: "b", use: "sh", run: ["node", "--version"] },
      ],
      finally: [{ name: "c", use: "sh", run: ["node", "--version"] }],
    });
    let isOpen = false;
    const sent = await statuses(pipeline, new Mask([]), {
      opened: () => {
        isOpen = true;
      },
      variable: () => {
        if (isOpen) throw new TypeError("that is no function");
        return "";
      },
    });
    assert.deepEqual(sent, [
      ["failed", "this step broke off: that is no function"],
      ["succeeded", undefined],
    ]);
  });
});
