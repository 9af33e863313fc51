import assert from "node:assert/strict";
import { largestRanPipeline } from "../../../src/contract/limits.ts";
import type { Message } from "../../../src/runner/launch/messages.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { sendPipeline } from "../../../src/runner/steps/runValues.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

describe("the pipeline file that a run sends", () => {
  /** What it sends of a file. */
  async function sent(text: string, how: { readonly env?: NodeJS.ProcessEnv } = {}): Promise<Message[]> {
    await using folder = await TemporaryFolder.make();
    const messages: Message[] = [];
    await sendPipeline(
      {
        ...{ runId: "run_1", root: folder.path, artifactsFolder: folder.path, graceMilliseconds: 0 },
        pipeline: { name: "a", timeLimitSeconds: 30, resources: [], steps: [] },
        source: { path: "pipelines/a.yaml", texts: { "pipelines/a.yaml": text } },
      },
      how.env ?? process.env,
      {
        mask: new Mask(["very-secret"]),
        send: (message) => messages.push(message),
        signal: new AbortController().signal,
      },
    );
    return messages;
  }

  it("is masked, and has no commit outside a repository or without git", async () => {
    const masked = [
      { kind: "pipeline", path: "pipelines/a.yaml", texts: { "pipelines/a.yaml": "a: ***\n" } },
    ];
    assert.deepEqual(await sent("a: very-secret\n"), masked);
    assert.deepEqual(await sent("a: very-secret\n", { env: { PATH: "" } }), masked);
  });

  it("is left out where it is too large", async () => {
    assert.deepEqual(await sent("x".repeat(largestRanPipeline)), [
      { kind: "pipeline", path: "pipelines/a.yaml", texts: {} },
    ]);
  });
});
