import assert from "node:assert/strict";
import { freeTier, quotaLevel, quotaText, timeLimit, waitSeconds } from "../../src/contract/limits.ts";
import type { Org } from "../../src/contract/org.ts";

function org(runsToday: number, runsPerDay: number): Org {
  return {
    orgId: "org_1",
    orgName: "Lamps",
    tier: "any",
    limits: { parallelRuns: 1, runsPerDay },
    usage: { runsToday },
    actor: "key_1",
  };
}

describe("the limits", () => {
  it("are the given ones", () => {
    assert.deepEqual(freeTier, { tier: "free", parallelRuns: 1, runsPerDay: 50 });
    assert.deepEqual(timeLimit, { byDefault: 30, atMost: 3600 });
    assert.equal(waitSeconds, 120);
  });

  it("are shown with the numbers of the org's own tier", () => {
    assert.equal(quotaText(org(3, 50)), "3 of 50 runs used today");
    assert.equal(quotaText(org(0, 500)), "0 of 500 runs used today");
  });

  it("warn from 80 % on, and say when nothing is left", () => {
    assert.deepEqual(
      [39, 40, 49, 50, 51].map((used) => quotaLevel(org(used, 50))),
      ["plenty", "low", "low", "used-up", "used-up"],
    );
    assert.equal(quotaLevel(org(0, 0)), "used-up");
  });
});
