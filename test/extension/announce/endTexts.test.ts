import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import { endText } from "../../../src/extension/announce/runAnnouncer.ts";
import { tookText } from "../../../src/text/time.ts";

const run: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "lamps",
  status: "succeeded",
  actor: "key_1",
  runner: "local",
  createdAt: "2026-03-03T10:00:00.000Z",
  stoppedAt: "2026-03-03T10:00:01.270Z",
  timeLimitSeconds: 600,
};

describe("the text of a run's end", () => {
  it("tells the duration that the views and the log tell", () => {
    assert.equal(endText(run, true), "nightly succeeded in 1.2 s.");
    assert.equal(tookText(run.createdAt, run.stoppedAt), "1.2 s");
    assert.equal(
      endText({ ...run, stoppedAt: "2026-03-03T10:03:05Z" }, true),
      "nightly succeeded in 3 min 5 s.",
    );
  });

  it("tells the run's inputs in short", () => {
    const inputs = { region: "eu", lamps: 2 };
    assert.equal(
      endText(
        { ...run, status: "failed", inputs: { ...inputs, shop: "***" }, evaluatedInputs: ["shop"] },
        true,
      ),
      "nightly with region=eu, lamps=2 failed.",
    );
    const long = endText({ ...run, inputs: { note: "a\nb".repeat(100) } }, false);
    assert.match(long, /^nightly with note=a ba b.{40,60}… \(by key_1\) succeeded/);
  });
});
