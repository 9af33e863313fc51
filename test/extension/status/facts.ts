import type { Run } from "../../../src/contract/run.ts";
import type { SessionState } from "../../../src/extension/session/serviceConnection.ts";
import type { StatusFacts } from "../../../src/extension/status/statusFacts.ts";

export const noon = Date.parse("2026-03-04T12:00:00Z");

export const org = {
  orgId: "org_1",
  orgName: "Lamps",
  tier: "free",
  limits: { parallelRuns: 1, runsPerDay: 50 },
  usage: { runsToday: 7 },
  actor: "key_1",
};

export function live(
  runsToday: number,
  activeRuns: readonly Run[] | undefined = [],
  limits: { runsPerDay?: number; parallelRuns?: number } = {},
): Extract<SessionState, { kind: "live" }> {
  const its = { ...org, limits: { ...org.limits, ...limits }, usage: { runsToday } };
  return { kind: "live", org: its, activeRuns };
}

export const run: Run = {
  runId: "run_1",
  pipeline: "nightly",
  project: "shop",
  status: "running",
  actor: "key_1",
  runner: "embedded",
  createdAt: "2026-03-04T11:59:00Z",
  timeLimitSeconds: 30,
};

export function factsOf(state: SessionState, others: Partial<StatusFacts> = {}): StatusFacts {
  return {
    state,
    reading: { how: "followed", at: noon, servedAt: noon },
    waits: [],
    use: undefined,
    deferred: "",
    used: undefined,
    now: noon,
    ...others,
  };
}
