import assert from "node:assert/strict";
import { FailureLines, failuresOf } from "../../src/text/failureLines.ts";

const at = "2026-03-03T10:00:02Z";
const step = { type: "cli", startedAt: at, stoppedAt: at };

describe("why a run failed, behind its log", () => {
  it("is what its failed steps say, and for one that was cut off the run's reason", () => {
    const lines = (run: Parameters<typeof failuresOf>[0]) => failuresOf(run).map(({ text }) => text);
    const steps = [
      { ...step, name: "one", status: "failed", message: "exited with 1" },
      { ...step, name: "two", status: "skipped", message: "`if` is false" },
      { ...step, name: "three", status: "stopped" },
    ];
    const reason = "reached its time limit of 1 s during the step `three`";
    assert.deepEqual(lines({ status: "succeeded", steps }), ["one failed: exited with 1"]);
    assert.deepEqual(lines({ status: "timed-out", steps: steps.slice(1), reason }), [`timed-out: ${reason}`]);
    assert.deepEqual(lines({ status: "cancelled", steps: steps.slice(1), reason: "cancelled by key_1" }), []);
    assert.deepEqual(lines({ status: "lost" }), []);
  });

  it("leaves out what the log has, and a colon behind which nothing is left", () => {
    const failures = new FailureLines();
    for (const text of ["\u001b[31moops\u001b[0m ", "end"])
      failures.add({ id: text, stepIndex: 1, stream: "stderr", at, text });
    const notInLog = (stepIndex: number, text: string) =>
      failures.notInLog([{ stepIndex, at, text }]).map((line) => line.text);
    assert.deepEqual(notInLog(1, "exited with 3:\noops\nend"), ["exited with 3"]);
    assert.deepEqual(notInLog(1, "exited with 3:\noops\nother"), ["exited with 3:", "other"]);
    assert.deepEqual(notInLog(0, "exited with 3:\noops"), ["exited with 3:", "oops"], "another step's");
  });
});
