import assert from "node:assert/strict";
import { stoppedEnd } from "../../../src/service/runs/runs.ts";

describe("the end of a run at its time limit", () => {
  const reason = (seconds: number, origin: "file" | "start", step?: string) =>
    stoppedEnd({ kind: "timed-out", seconds, origin, step }).reason;

  it("names the step that was running, and what sets the limit", () => {
    assert.equal(
      reason(2, "file", "npm\ntest"),
      "reached its time limit of 2 s during the step `npm test`; `time-limit:` in the pipeline file sets it, to at most 1h",
    );
    assert.equal(
      reason(2, "start", "test"),
      "reached its time limit of 2 s during the step `test`; it was set at the start, to at most 1h",
    );
  });

  it("names the time that the steps had where the rest is for what cleans up", () => {
    const { reason: text } = stoppedEnd({
      ...{ kind: "timed-out", seconds: 3600, stepsMilliseconds: 3_595_000 },
      ...{ origin: "file", step: "test" },
    });
    assert.equal(
      text,
      "reached its time limit of 1 h (59 min 55 s for its steps) during the step `test`, the most that a run may take",
    );
  });

  it("names no step between two, and no longer limit than the longest", () => {
    assert.equal(
      reason(30, "file"),
      "reached its time limit of 30 s; `time-limit:` in the pipeline file sets it, to at most 1h",
    );
    assert.equal(
      reason(3600, "file", "test"),
      "reached its time limit of 1 h during the step `test`, the most that a run may take",
    );
  });
});
