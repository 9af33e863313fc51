import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import { TaskReport } from "../../../src/extension/tasks/taskReport.ts";
import { readScreen } from "./terminalText.ts";

const at = (second: number) => `2026-03-03T10:00:0${second}Z`;
const run: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "shop",
  status: "running",
  actor: "key_1",
  runner: "here",
  createdAt: at(0),
  timeLimitSeconds: 30,
};
const step = (name: string, stoppedAt?: string, status = "succeeded", message?: string) => ({
  name,
  type: "cli",
  status,
  startedAt: at(0),
  ...(stoppedAt === undefined ? {} : { stoppedAt }),
  ...(message === undefined ? {} : { message }),
});
const line = (stepIndex: number, text: string) => ({ stepIndex, stream: "stdout", at: at(1), text });

function story() {
  const read = readScreen();
  const told = new TaskReport(read.screen, run);
  return { told, lines: () => read.lines.slice(1) };
}

describe("the story of a run in a task's terminal", () => {
  it("tells a step's end behind its log, also when the news of it came before", () => {
    const { told, lines } = story();
    told.update({ ...run, steps: [step("one", at(1)), step("two")] });
    told.line(line(0, "late"));
    told.line(line(1, "from two"));
    assert.deepEqual(lines(), ["▸ one", "late", "✓ one (1 s)", "▸ two", "from two"]);
  });

  it("tells ends, and the running step, when the log has had its time", () => {
    const { told, lines } = story();
    told.update({ ...run, steps: [step("one", at(1)), step("two")] });
    told.settle();
    told.settle();
    assert.deepEqual(lines(), ["✓ one (1 s)", "▸ two"]);
    told.line(line(0, "from the background"));
    told.line(line(1, "from two"));
    assert.deepEqual(lines().slice(2), ["▸ one", "from the background", "▸ two", "from two"]);
  });

  it("ends with why the run failed, once, and goes back to no earlier state", () => {
    const { told, lines } = story();
    const failed = step("one", at(2), "failed", "exited with 3:\n\u001b[31mno\u001b[0m");
    told.update({
      ...run,
      status: "failed",
      stoppedAt: at(2),
      reason: "one: exited with 3",
      steps: [failed],
    });
    told.update(run);
    told.end();
    assert.deepEqual(lines(), ["✗ one (2 s)", "    exited with 3:", "    no", "nightly: failed in 2 s"]);
  });

  it("tells the reason of a run that failed in none of its steps, and a step that has no name yet", () => {
    const { told, lines } = story();
    told.line(line(0, "early"));
    told.update({ ...run, status: "lost", reason: "its runner died" });
    told.end();
    assert.deepEqual(lines(), ["▸ step 1", "early", "its runner died", "nightly: lost"]);
  });
});
