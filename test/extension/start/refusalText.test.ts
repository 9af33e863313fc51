import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import { refusalText, showRefusal } from "../../../src/extension/start/startPipeline.ts";
import { timeOfDay } from "../../../src/text/time.ts";
import { fakeWindow } from "./fakeWindow.ts";

const noon = Date.parse("2026-03-04T12:00:00Z");
const facts = { now: noon };
const taken = { pipeline: "nightly", refusal: { scope: "org" as const }, waitedSeconds: 120 };
const usedUp = {
  pipeline: "nightly",
  refusal: { scope: "free-day" as const, secondsToReset: 43_200 },
  waitedSeconds: 0,
};
const runOf = (actor: string): Run => ({
  runId: "run_1",
  pipeline: "long",
  project: "shop",
  status: "running",
  actor,
  runner: "local",
  createdAt: "2026-03-04T11:59:00Z",
  timeLimitSeconds: 600,
});

describe("the notification of a refused start", () => {
  it("says why, for how long, and what to do then", () => {
    assert.equal(
      refusalText(usedUp, { now: noon, runsPerDay: 50 }).replace(/ \(.+ your time\)/, ""),
      "nightly was not started: today's 50 runs are used up. The count starts again at 00:00 UTC, in 12 h. Hint: pipeline run nightly, from then on.",
    );
    assert.match(refusalText(usedUp, facts), /today's runs are used up\./, "without the org's limit");
    assert.equal(
      refusalText(taken, facts),
      "nightly was not started: another run holds the slot, and it did not become free within 2 min. Hint: pipeline runs cancel --mine, which cancels your runs; pipeline run nightly, once the slot is free.",
    );
  });

  it("tells the reset of a used-up day as this machine's clock will show it, also where that is off", () => {
    const late = 5 * 3_600_000;
    const reset = Date.parse("2026-03-05T00:00:00Z");
    for (const off of [late, late + 3_600_000]) {
      const text = refusalText(usedUp, { now: noon + off });
      assert(text.includes(`(${timeOfDay(reset + off)} your time)`), text);
    }
    assert(!refusalText(taken, facts).includes("your time"));
  });

  it("offers what helps: the next day against a used-up one, one's own runs and who holds it against a taken slot", async () => {
    const buttons = async (...[refused, others]: Parameters<typeof showRefusal>) => {
      const { shown, window } = fakeWindow([]);
      assert.equal(await showRefusal(refused, others, window), "dismissed");
      return shown.all[0]?.buttons;
    };
    const { window } = fakeWindow([]);
    assert.deepEqual(await buttons(usedUp, facts, window), [
      "Retry",
      "Retry at 00:00 UTC",
      "What Counts as a Run?",
    ]);
    const mine = { ...facts, holders: { runs: [runOf("key_1")], me: "key_1" } };
    assert.deepEqual(await buttons(taken, mine, window), ["Retry", "Cancel My Runs", "Who Holds the Slot"]);
    const others = { ...facts, holders: { runs: [runOf("key_2")], me: "key_1" } };
    assert.deepEqual(await buttons(taken, others, window), ["Retry", "Who Holds the Slot"]);
    assert.deepEqual(await buttons(taken, facts, window), ["Retry", "Cancel My Runs"], "not known");
  });

  it("tells which of them was chosen", async () => {
    const holders = { runs: [runOf("key_1")], me: "key_1" };
    for (const [refused, button, answer] of [
      [usedUp, "Retry", "retry"],
      [usedUp, "Retry at 00:00 UTC", "retry-at-reset"],
      [taken, "Cancel My Runs", "cancel-mine"],
      [taken, "Who Holds the Slot", "who-holds"],
    ] as const) {
      const { window } = fakeWindow([button]);
      assert.equal(await showRefusal(refused, { ...facts, holders }, window), answer);
    }
  });

  it("shows the hints of a service's own tool as that tool gave them, a few at most", () => {
    const hint = { command: "cloud run nightly", doc: "retry after 43200 s" };
    assert.match(
      refusalText(usedUp, { ...facts, hints: [hint] }),
      /Hint: cloud run nightly \(retry after 43200 s\)\.$/,
    );
    const many = Array.from({ length: 10_000 }, () => hint);
    assert(refusalText(usedUp, { ...facts, hints: many }).length < 1000);
  });
});
