import assert from "node:assert/strict";
import type { Run } from "../../src/contract/run.ts";
import { Observed } from "../../src/extension/observed.ts";
import { present, QuotaStatus } from "../../src/extension/quotaStatus.ts";
import type { SessionState } from "../../src/extension/session.ts";
import type { Wait } from "../../src/extension/waits.ts";

const noon = Date.parse("2026-03-04T12:00:00Z");

function live(runsToday: number, inWork: readonly Run[] = [], runsPerDay = 50): SessionState {
  const org = {
    orgId: "org_1",
    orgName: "Acme",
    tier: "free",
    limits: { parallelRuns: 1, runsPerDay },
    usage: { runsToday },
    actor: "key_1",
  };
  return { kind: "live", org, inWork };
}

const run: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "shop",
  status: "running",
  actor: "key_1",
  runner: "embedded",
  createdAt: "2026-03-04T11:59:00Z",
  timeLimitSeconds: 30,
};

describe("the status-bar item", () => {
  it("says the quota in the contract's words, with nothing before it", () => {
    const shown = present(live(1), [], noon);
    assert.equal(shown?.text, "1 of 50 runs used today");
    assert.equal(shown.icon, undefined);
    assert.equal(shown.background, undefined);
    assert.equal(shown.command, "pipelineRuns.run");
  });

  it("is right on another tier", () => {
    assert.equal(present(live(120, [], 1000), [], noon)?.text, "120 of 1000 runs used today");
  });

  it("turns while a run is in work, and names it in the tooltip", () => {
    const shown = present(live(2, [run]), [], noon);
    assert.equal(shown?.text, "2 of 50 runs used today");
    assert.equal(shown.icon, "sync~spin");
    assert.match(shown.tooltip, /1 of 1 places in use: nightly/);
  });

  it("shows a wait with its seconds beside the quota", () => {
    const shown = present(live(2, [run]), [{ pipeline: "hello", secondsLeft: 97 }], noon);
    assert.equal(shown?.text, "2 of 50 runs used today · waiting, 97 s left");
  });

  it("warns from 80 % used, and differently when the day is used up", () => {
    assert.equal(present(live(39), [], noon)?.background, undefined);
    assert.equal(present(live(40), [], noon)?.background, "warning");
    assert.equal(present(live(49), [], noon)?.background, "warning");
    assert.equal(present(live(50), [], noon)?.background, "error");
  });

  it("shows no number when none is known", () => {
    const states: SessionState[] = [
      { kind: "connecting" },
      { kind: "no-key", origin: "https://cloud.example", refused: false },
      { kind: "no-key", origin: "https://cloud.example", refused: true },
      { kind: "out-of-reach", problem: "The service can't be reached.", retried: true },
    ];
    for (const state of states) assert.doesNotMatch(present(state, [], noon)?.text ?? "", /\d/);
    assert.equal(present({ kind: "idle" }, [], noon), undefined);
  });

  it("leads to the key when there is none, and to the log when the service is out of reach", () => {
    const noKey = present({ kind: "no-key", origin: "https://cloud.example", refused: false }, [], noon);
    assert.equal(noKey?.command, "pipelineRuns.setApiKey");
    assert.match(noKey.tooltip, /cloud\.example/);
    const away = present({ kind: "out-of-reach", problem: "Connection refused.", retried: true }, [], noon);
    assert.equal(away?.command, "pipelineRuns.showLog");
    assert.match(away.tooltip, /Connection refused\./);
  });

  it("says nothing of places where the service doesn't tell of runs", () => {
    const { org } = live(3) as Extract<SessionState, { kind: "live" }>;
    const shown = present({ kind: "live", org, inWork: undefined }, [], noon);
    assert.doesNotMatch(shown?.tooltip ?? "", /places/);
    assert.equal(shown?.text, "3 of 50 runs used today");
  });

  it("leads to the settings when the base URL can't be used", () => {
    const shown = present({ kind: "out-of-reach", problem: "It is none.", retried: false }, [], noon);
    assert.equal(shown?.command, "settings");
    assert.match(shown.text, /base URL can't be used$/);
    assert.doesNotMatch(shown.tooltip, /tried again/);
  });

  it("follows the state, hides when idle, and lets go when disposed", () => {
    const shown: string[] = [];
    const item = {
      text: "",
      tooltip: undefined,
      backgroundColor: undefined,
      command: undefined,
      accessibilityInformation: undefined,
      show: () => shown.push(item.text),
      hide: () => shown.push("(hidden)"),
    };
    const state = new Observed<SessionState>({ kind: "idle" });
    const waits = new Observed<readonly Wait[]>([]);
    const status = new QuotaStatus(item, state, waits, (id) => ({ id }));
    shown.length = 0;
    state.set(live(3));
    state.set({ kind: "idle" });
    status.dispose();
    state.set(live(4));
    assert.deepEqual(shown, ["3 of 50 runs used today", "(hidden)"]);
  });
});
