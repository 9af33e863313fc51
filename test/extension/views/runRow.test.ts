import assert from "node:assert/strict";
import type { Run, RunStep } from "../../../src/contract/run.ts";
import { runStatuses } from "../../../src/contract/runStatus.ts";
import {
  isRunning,
  type RowContext,
  runTooltip,
  runViewRow,
  statusIcon,
  stepTooltip,
} from "../../../src/extension/views/runRow.ts";
import { momentText, shortId } from "../../../src/extension/window/runText.ts";

const began = Date.parse("2026-03-03T10:00:00Z");
const seen = { me: "key_1", serviceNow: began + 12_300, now: began + 12_300 };
const run: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "shop",
  status: "failed",
  actor: "key_1",
  runner: "local",
  createdAt: "2026-03-03T10:00:00Z",
  stoppedAt: "2026-03-03T10:00:01.250Z",
  timeLimitSeconds: 90,
};
const { stoppedAt: _, ...begun } = run;
const rowOf = (of: Run, with_: RowContext = seen) =>
  runViewRow({ kind: "run", runId: of.runId, run: of, isUnfolded: false }, with_);

describe("a row of the Runs view", () => {
  it("says how a run ended, how long it took and when it was, by sign, by word and aloud", () => {
    const when = momentText(began, seen.now);
    const row = rowOf(run);
    assert.equal(row.id, "runs/run_1");
    assert.equal(row.label, "nightly");
    assert.equal(row.description, `${when} · 1.2 s · failed`);
    assert.deepEqual(row.icon, { id: "error", color: "testing.iconFailed" });
    assert.equal(row.spoken, `nightly, failed after 1.2 s, ${when}, started by you`);
    assert.deepEqual(row.tokens, ["run", "ended"]);
  });

  it("says since when a run is active, which needs no redrawing, and can be cancelled once", () => {
    const row = rowOf({ ...begun, status: "running" });
    const when = momentText(began, seen.now);
    assert.equal(row.description, `since ${when} · running`);
    assert.deepEqual(row.tokens, ["run", "inWork", "cancellable"]);
    assert.equal(row.spoken, `nightly, running since ${when}, started by you`);
    assert.deepEqual(rowOf({ ...begun, status: "cancelling" }).tokens, ["run", "inWork"]);
  });

  it("names its project where the listed runs are of several", () => {
    const when = momentText(began, seen.now);
    const row = rowOf(run, { ...seen, namesProjects: true });
    assert.equal(row.description, `${when} · 1.2 s · failed · shop`);
    assert.equal(row.spoken, `nightly, failed after 1.2 s, ${when}, project shop, started by you`);
  });

  it("counts on the service's clock, and tells when by this machine's", () => {
    const ahead = { ...seen, serviceNow: seen.now + 3_600_000 };
    const later = new Date(began + 3_600_000).toISOString();
    const row = rowOf({ ...begun, status: "running", createdAt: later }, ahead);
    assert.equal(row.description, rowOf({ ...begun, status: "running" }).description);
    const ended = { ...run, createdAt: later, stoppedAt: new Date(began + 3_601_250).toISOString() };
    assert.equal(rowOf(ended, ahead).description, rowOf(run).description);
  });

  it("names another key in short, and shows a status that it doesn't know as it is", () => {
    const row = rowOf({ ...run, actor: "key_01JABCDEFGHJKMNPQRSTVWXYZ0", status: "paused" });
    assert.match(row.description ?? "", / · 1\.2 s · paused · by key_…XYZ0$/);
    assert.match(row.spoken, /started by key_01JABCDEFGHJKMNPQRSTVWXYZ0$/);
    assert.deepEqual(row.icon, { id: "question", color: "testing.iconUnset" });
    assert.deepEqual(rowOf({ ...begun, status: "paused" }).tokens, ["run", "inWork", "cancellable"]);
  });

  it("names another key by its name, and says why the run ended", () => {
    const other = { ...run, actor: "key_2", actorName: "ada", reason: "only: exited with 3:\nthe output" };
    const row = rowOf(other);
    assert.match(row.description ?? "", / · 1\.2 s · failed · by ada · only: exited with 3$/);
    assert.match(row.spoken, /, started by ada, only: exited with 3$/);
    const tooltip = runTooltip(other, seen).map(({ name, text }) => `${name}: ${text}`);
    assert(tooltip.includes("Started by: ada (key_2)"), tooltip.join("\n"));
  });

  it("names the commit in its tooltip, and a difference of few lines since the pipeline last succeeded", () => {
    const commit = { id: "b".repeat(40), branch: "main", changed: false };
    const lastPassed = { runId: "run_0", createdAt: "2026-03-03T09:00:00Z", commit };
    const lines = (diff: string) =>
      runTooltip({ ...run, commit }, seen, { lastPassed, diffs: { a: diff } }).map(({ text }) => text);
    assert(lines("@@ -1,1 +1,1 @@\n-a\n+b").includes("@@ -1,1 +1,1 @@\n-a\n+b"));
    assert(lines("x").includes("bbbbbbb on main"));
    assert(lines("x").includes("The commit is the same, bbbbbbb."));
    const long = "+a\n".repeat(12);
    assert(!lines(long).includes(long));
    assert(
      !runTooltip(run, seen).some(({ name }) => name === "Commit" || name === "Since it last succeeded"),
    );
  });

  it("has an icon for each status of a run and of a step", () => {
    const iconOf = (status: string) => statusIcon({ status, stoppedAt: run.stoppedAt }).id;
    for (const status of [...runStatuses, "stopped", "skipped"]) {
      assert.notEqual(iconOf(status), "question", status);
    }
    assert.equal(iconOf("skipped"), "debug-step-over");
  });

  it("opens the run's log", () => {
    const log = { kind: "log", runId: "run_1", pipeline: "nightly" };
    assert.deepEqual(rowOf(run).action, log);
    const step = { name: "build", type: "cli", status: "running" };
    const node = {
      kind: "step",
      runId: "run_1",
      pipeline: "nightly",
      index: 0,
      step,
      mayBegin: false,
    } as const;
    assert.deepEqual(runViewRow(node, seen).action, log);
  });

  it("has a tooltip with everything: the reason, the whole ids, the time limit", () => {
    const lines = runTooltip({ ...run, reason: "only: exited with 3:\nthe output" }, seen);
    const text = lines.map(({ name, text }) => `${name ?? ""}: ${text}`).join("\n");
    for (const part of [
      "nightly: failed",
      ": only: exited with 3",
      "Run: run_1",
      "Project: shop",
      "1 min 30 s",
    ]) {
      assert(text.includes(part), part);
    }
    assert.doesNotMatch(text, /the output/);
    assert.match(text, /Started by: you \(key_1\)/);
    const reasonBy = (key: string) =>
      runTooltip({ ...run, status: "cancelled", reason: `cancelled by ${key}` }, seen)[1]?.text;
    assert.deepEqual([reasonBy("key_1"), reasonBy("key_2")], ["cancelled by you", "cancelled by key_2"]);
  });

  it("has its inputs and outputs in its tooltip, each on one line and cut", () => {
    const inputs = { region: "eu", lamps: 2, note: "one\ntwo" };
    const outputs = { order: { id: 7 }, log: "x".repeat(1000) };
    const lines = new Map(
      runTooltip({ ...run, inputs, outputs }, seen).map(({ name, text }) => [name, text]),
    );
    assert.equal(lines.get("Inputs"), "region=eu, lamps=2, note=one two");
    assert.match(lines.get("Outputs") ?? "", /^order=\{"id":7\}, log=x{200,300}…$/);
    assert(!runTooltip(run, seen).some(({ name }) => name === "Inputs" || name === "Outputs"));
  });

  it("has its timeline in its tooltip: the wait for a slot and each step that ran, on one axis", () => {
    const at = (seconds: number) => new Date(began + seconds * 1000).toISOString();
    const step = (name: string, from: number, to: number) => ({
      ...{ name, type: "cli", status: "succeeded" },
      ...{ startedAt: at(from), stoppedAt: at(to) },
    });
    const timed = {
      ...run,
      ...{ askedAt: at(-10), stoppedAt: at(30) },
      steps: [
        step("build", 0, 0.2),
        step("a step\nwith a \u202ename that is long", 10, 30),
        { name: "skipped", type: "cli", status: "skipped" },
      ],
    };
    const timelineOf = (of: Run) =>
      runTooltip(of, seen)
        .find(({ isCode }) => isCode)
        ?.text.split("\n");
    assert.deepEqual(timelineOf(timed), [
      "Wait for a slot           █████                 10 s",
      "build                          █                200 ms",
      "a step with a name that…            ██████████  20 s",
    ]);
    const halves = { ...run, stoppedAt: at(10), steps: [step("one", 0, 2.75), step("two", 2.75, 10)] };
    assert.deepEqual(timelineOf(halves), [
      "one  ██████                2.7 s",
      "two        ██████████████  7.2 s",
    ]);
    assert.equal(timelineOf(run), undefined);
    const many = {
      ...run,
      steps: Array.from({ length: 25 }, (_, index) => step(`${index}`, index, index + 1)),
    };
    assert.deepEqual(timelineOf(many)?.slice(-2), ["19                 █      1 s", "and 5 more"]);
    const { stoppedAt: _stopped, ...goesOn } = step("now", 0, 1);
    assert.deepEqual(timelineOf({ ...begun, status: "running", steps: [{ ...goesOn, status: "running" }] }), [
      "now  ████████████████████  12 s",
    ]);
  });

  it("names the agent that started it", () => {
    const byAgent = { ...run, agent: "some-agent" };
    assert(runTooltip(byAgent, seen).some(({ name, text }) => name === "Agent" && text === "some-agent"));
    const row = runViewRow({ kind: "run", runId: "run_1", run: byAgent, isUnfolded: false }, seen);
    assert.match(row.description ?? "", /^agent some-agent · .* · 1\.2 s · failed/);
    assert.match(row.spoken, /started by you, agent some-agent$/);
  });

  it("tells a step's time and the first line of its message", () => {
    const step = {
      name: "unit tests",
      type: "cli",
      status: "failed",
      startedAt: "2026-03-03T10:00:00Z",
      stoppedAt: "2026-03-03T10:00:03Z",
      message: "exited with 3\nthe output",
    };
    const row = runViewRow(
      { kind: "step", runId: "run_1", pipeline: "nightly", index: 2, step, mayBegin: true },
      seen,
    );
    assert.equal(row.id, "runs/run_1/steps/2");
    assert.deepEqual(row.tokens, ["step", "failedStep"]);
    assert.equal(row.description, "3 s · failed · exited with 3");
    assert.equal(row.spoken, "Step unit tests, failed, 3 s exited with 3");
    assert(stepTooltip(step, seen).some(({ text }) => text.includes("the output")));
    const { stoppedAt: _stopped, message: _message, ...running } = { ...step, status: "running" };
    assert.equal(
      runViewRow(
        { kind: "step", runId: "run_1", pipeline: "nightly", index: 2, step: running, mayBegin: false },
        seen,
      ).description,
      "12 s · running",
    );
    const waiting = { name: "last", type: "cli", status: "waiting" };
    assert.equal(
      runViewRow(
        { kind: "step", runId: "run_1", pipeline: "nightly", index: 3, step: waiting, mayBegin: false },
        seen,
      ).description,
      "waiting",
    );
  });

  it("tells how often a step was tried, that it cleans up, and that it was skipped or not reached", () => {
    const rowOfStep = (step: RunStep) =>
      runViewRow(
        { kind: "step", runId: "run_1", pipeline: "nightly", index: 2, step, mayBegin: false },
        seen,
      );
    const paid = {
      name: "is paid",
      type: "http",
      status: "succeeded",
      startedAt: "2026-03-03T10:00:00Z",
      stoppedAt: "2026-03-03T10:00:03Z",
      attempts: 3,
    };
    assert.equal(rowOfStep(paid).description, "3 s · succeeded · 3 attempts");
    assert.equal(rowOfStep(paid).spoken, "Step is paid, succeeded, 3 attempts, 3 s");
    assert.equal(stepTooltip(paid, seen)[0]?.text, "succeeded, 3 attempts");
    const once = { ...paid, attempts: 1, cleanup: true as const };
    assert.equal(rowOfStep(once).description, "3 s · succeeded · cleanup");
    const [skipped, notReached] = ["skipped", "not-reached"].map((status) =>
      rowOfStep({ name: "later", type: "http", status }),
    );
    assert.deepEqual([skipped?.description, notReached?.description], ["skipped", "not reached"]);
    assert.deepEqual([skipped?.icon?.id, notReached?.icon?.id], ["debug-step-over", "circle-outline"]);
    const timed = runTooltip({ ...run, steps: [paid] }, seen).find(({ isCode }) => isCode);
    assert.match(timed?.text ?? "", /^is paid .* 3 s · 3 attempts$/);
  });

  it("moves no time of a step that has not begun", () => {
    for (const status of ["waiting", "skipped", "not-reached"]) {
      assert.equal(isRunning({ name: "later", type: "http", status }), false, status);
    }
    const startedAt = "2026-03-03T10:00:00Z";
    assert.equal(isRunning({ name: "now", type: "http", status: "running", startedAt }), true);
  });
});

describe("words for times and ids", () => {
  it("are as short as a row needs", () => {
    assert.equal(shortId("key_1"), "key_1");
    assert.equal(shortId("key_01JABCDEFGHJKMNPQRSTVWXYZ0"), "key_…XYZ0");
  });

  it("name the day of what was on another", () => {
    const year = 365 * 86_400_000;
    assert.doesNotMatch(momentText(began, began + 1000), /Mar/);
    assert.match(momentText(began, began + 2 * 86_400_000), /3/);
    assert.match(momentText(began, began + year), /2026/);
  });
});
