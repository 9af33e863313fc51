import assert from "node:assert/strict";
import { failedStep } from "../../src/contract/runStatus.ts";

describe("the step that a run failed at", () => {
  it("is the one that failed, also where another was cut off before it", () => {
    assert.equal(stepOf("failed", "succeeded", "failed"), 1);
    assert.equal(stepOf("timed-out", "timed-out", "failed"), 1);
  });

  it("is else the one that was in work when the run's time or its runner ended", () => {
    assert.equal(stepOf("timed-out", "succeeded", "timed-out"), 1);
    assert.equal(stepOf("timed-out", "succeeded", "stopped"), 1);
    assert.equal(stepOf("lost", "lost"), 0);
    assert.equal(stepOf("lost", "succeeded"), undefined);
  });

  it("is none of a run that is in work, has succeeded or was cancelled", () => {
    assert.equal(stepOf("running", "failed"), undefined);
    assert.equal(stepOf("succeeded", "failed"), undefined);
    assert.equal(stepOf("cancelled", "succeeded", "cancelled"), undefined);
    assert.equal(failedStep({ status: "failed" }), undefined);
  });
});

function stepOf(status: string, ...steps: string[]): number | undefined {
  const stoppedAt = status === "running" ? {} : { stoppedAt: "2026-11-21T10:00:00Z" };
  const named = steps.map((own, index) => ({ name: `step ${index}`, type: "cli", status: own }));
  return failedStep({ status, ...stoppedAt, steps: named })?.index;
}
