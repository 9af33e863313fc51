import assert from "node:assert/strict";
import type { Run } from "../../../src/contract/run.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { showBadge } from "../../../src/extension/status/quotaStatus.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";
import { org } from "./facts.ts";

const run = (runId: string, actor: string): Run => ({
  runId,
  pipeline: "nightly",
  project: "shop",
  status: "running",
  actor,
  runner: "local",
  createdAt: "2026-03-03T10:00:00Z",
  timeLimitSeconds: 30,
});

describe("the number on our icon", () => {
  it("is how many of one's own runs are active, and is not there for none or when it isn't known", () => {
    const view: { badge?: { value: number; tooltip: string } | undefined } = {};
    const state = new ObservableValue<SessionState>({ kind: "connecting" });
    const badge = showBadge(view, state);
    assert.equal(view.badge, undefined);
    state.set({ kind: "live", org, activeRuns: [run("run_1", "key_1"), run("run_2", "key_2")] });
    assert.deepEqual(view.badge, { value: 1, tooltip: "You have 1 active run" });
    state.set({ kind: "live", org, activeRuns: [run("run_1", "key_1"), run("run_3", "key_1")] });
    assert.deepEqual(view.badge, { value: 2, tooltip: "You have 2 active runs" });
    state.set({ kind: "live", org, activeRuns: undefined });
    assert.equal(view.badge, undefined);
    badge.dispose();
  });
});
