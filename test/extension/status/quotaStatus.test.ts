import assert from "node:assert/strict";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { PendingRetry } from "../../../src/extension/start/resetRetries.ts";
import type { Wait } from "../../../src/extension/start/waitNotice.ts";
import { showQuota } from "../../../src/extension/status/quotaStatus.ts";
import { present } from "../../../src/extension/status/statusFacts.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import type { DayUse } from "../../../src/text/dayUse.ts";
import { timeOfDay } from "../../../src/text/time.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { live, noon, run } from "./facts.ts";

const reading: OrgReading = { how: "followed", at: noon, servedAt: noon };

const shownFor = (state: SessionState, waits: readonly Wait[] = [], deferred = "") =>
  present({ state, reading, waits, deferred, now: noon });

describe("the status-bar item", () => {
  it("says the quota in the contract's words, with nothing before it", () => {
    const shown = shownFor(live(1));
    assert.equal(shown?.text, "1 of 50 runs used today");
    assert.equal(shown.icon, undefined);
    assert.equal(shown.background, undefined);
  });

  it("is right on another tier", () => {
    assert.equal(shownFor(live(120, [], { runsPerDay: 1000 }))?.text, "120 of 1000 runs used today");
  });

  it("says of when a number is that was asked for minutes ago, since nobody looked", () => {
    const at = (age: number, how: OrgReading["how"]) =>
      present({
        state: live(1),
        reading: { how, at: noon, servedAt: noon },
        waits: [],
        deferred: "",
        now: noon + age,
      });
    assert.equal(at(299_000, "asked")?.text, "1 of 50 runs used today");
    const old = `1 of 50 runs used today · as of ${timeOfDay(noon)}`;
    assert.equal(at(301_000, "asked")?.text, old);
    assert.equal(at(3_600_000, "followed")?.text, "1 of 50 runs used today");
  });

  it("turns while a run is active", () => {
    const shown = shownFor(live(2, [run]));
    assert.equal(shown?.text, "2 of 50 runs used today");
    assert.equal(shown.icon, "sync~spin");
  });

  it("shows a wait with its seconds beside the quota, and what is deferred until the reset", () => {
    const wait = { pipeline: "hello", secondsLeft: 97 };
    assert.equal(
      shownFor(live(2, [run]), [wait])?.text,
      "2 of 50 runs used today · waiting; gives up in 97 s",
    );
    assert.equal(
      shownFor(live(2, [run]), [{ ...wait, place: { place: 2, waiting: 3 } }])?.text,
      "2 of 50 runs used today · waiting, 2nd of 3; gives up in 97 s",
    );
    assert.equal(
      shownFor(live(50), [], "nightly at 00:00 UTC")?.text,
      "50 of 50 runs used today · nightly at 00:00 UTC",
    );
  });

  it("shows what is deferred whatever is known of the service, also where nothing else is shown", () => {
    const deferred = "nightly at 00:00 UTC";
    const of = (state: SessionState) => shownFor(state, [], deferred)?.text;
    assert.equal(of({ kind: "idle" }), deferred);
    assert.equal(of({ kind: "connecting" }), `Pipeline Runs: connecting · ${deferred}`);
    assert.equal(
      of({ kind: "out-of-reach", problem: "Away.", retried: true }),
      `Pipeline Runs: service can't be reached · ${deferred}`,
    );
    assert.equal(of({ kind: "stopped" }), `Pipeline Runs: service stopped · ${deferred}`);
    const nextDay = present({ state: live(50), reading: undefined, waits: [], deferred, now: noon });
    assert.equal(nextDay?.text, `Pipeline Runs: loading the new day · ${deferred}`);
  });

  it("warns from 80 % used, and differently when the day is used up", () => {
    assert.equal(shownFor(live(39))?.background, undefined);
    assert.equal(shownFor(live(40))?.background, "warning");
    assert.equal(shownFor(live(49))?.background, "warning");
    assert.equal(shownFor(live(50))?.background, "error");
    assert.deepEqual(
      [39, 40, 50].map((used) => shownFor(live(used))?.icon),
      [undefined, "warning", "error"],
    );
  });

  it("shows no number when none is known, or only another day's", () => {
    const states: SessionState[] = [
      { kind: "connecting" },
      { kind: "stopped" },
      { kind: "no-key", origin: "https://cloud.example", refused: false },
      { kind: "no-key", origin: "https://cloud.example", refused: true },
      { kind: "out-of-reach", problem: "The service can't be reached.", retried: true },
      { kind: "out-of-reach", problem: "It is none.", retried: false },
    ];
    for (const state of states) assert.doesNotMatch(shownFor(state)?.text ?? "", /\d/);
    assert.equal(shownFor({ kind: "idle" }), undefined);
    const nextDay = present({ state: live(50), reading: undefined, waits: [], deferred: "", now: noon });
    assert.doesNotMatch(nextDay?.text ?? "", /\d/);
    assert.equal(nextDay?.background, undefined);
  });

  it("follows the state, hides when idle, and lets go when disposed", async () => {
    const shown: string[] = [];
    const clock = new FakeClock();
    const item = {
      text: "",
      tooltip: undefined,
      backgroundColor: undefined,
      command: undefined,
      accessibilityInformation: undefined,
      show: () => shown.push(item.text),
      hide: () => shown.push("(hidden)"),
    };
    const state = new ObservableValue<SessionState>({ kind: "idle" });
    const status = showQuota({
      item,
      session: {
        state,
        reading: new ObservableValue<OrgReading | undefined>(reading),
        currentClient: undefined,
      },
      waits: { current: new ObservableValue<readonly Wait[]>([]) },
      retries: { pending: new ObservableValue<readonly PendingRetry[]>([]) },
      used: () => undefined,
      dayUse: new ObservableValue<DayUse | undefined>(undefined),
      clock,
      color: (id) => ({ id }),
      markdown: () =>
        ({ appendMarkdown: () => {}, appendText: () => ({ appendMarkdown: () => {} }) }) as never,
    });
    shown.length = 0;
    state.set({ kind: "idle" });
    assert.deepEqual(shown, ["(hidden)"]);
    await new Promise(setImmediate);
    assert.equal(clock.alarms, 1);
    status.dispose();
    await new Promise(setImmediate);
    state.set(live(4));
    assert.deepEqual(shown, ["(hidden)"]);
    assert.equal(clock.alarms, 0);
  });
});
