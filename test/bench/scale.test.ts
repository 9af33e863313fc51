import assert from "node:assert/strict";
import type { Costs } from "../../bench/scale/costs.ts";
import { assumed, simulateDay } from "../../bench/scale/day.ts";
import { limits, needsOf, orgsAt, total, usedBy } from "../../bench/scale/model.ts";
import { nothing } from "../../bench/scale/used.ts";

const free: Costs = {
  ...{ idleSecond: nothing, idleSecondPerActive: nothing, start: nothing, take: nothing, emptyTake: nothing },
  ...{ takePerActive: nothing, messages: nothing, logPiece: nothing, logByte: nothing, heartbeat: nothing },
  ...{ waitingSecond: nothing, waitedMinute: nothing, streamSecond: nothing, streamedRun: nothing },
  ...{ streamConnections: 0, waitConnections: 0, heard: nothing, runWalBytesAtMost: 0 },
};
const busiest = { startsPerSecond: 0.001, waitsPerSecond: 0, active: 0.1, waiting: 0 };

describe("the simulated day of an org", () => {
  it("has three times its mean of starts in the busiest hour, and is the same each time", () => {
    const day = simulateDay(500);
    assert.deepEqual(simulateDay(500), day);
    const mean = assumed.runsPerDay / 86_400;
    assert(
      Math.abs(day.busiest.startsPerSecond / mean - 3) < 0.15,
      String(day.busiest.startsPerSecond / mean),
    );
    assert.equal((day.runs + day.refused) / 500, assumed.runsPerDay);
    // Little's law, of one slot an org.
    const { startsPerSecond, active } = day.busiest;
    assert(Math.abs(active / (startsPerSecond * assumed.runSeconds) - 1) < 0.1);
  });
});

describe("what so many orgs need", () => {
  it("grows as they do, but for what each server hears of all, which grows with both", () => {
    const costs = {
      ...free,
      start: { ...nothing, notifications: 1 },
      heard: { ...nothing, serverMilliseconds: 1 },
    };
    const heard = (orgs: number, servers: number) => {
      const load = { servers, emptyTakes: 0, heartbeats: 0, logPieces: 0, logBytes: 0, streamedRuns: 0 };
      const there = { streams: 0, waiting: 0, active: 0, runs: orgs / 1000 };
      return total(usedBy(costs, { ...load, ...there })).serverMilliseconds;
    };
    assert.deepEqual([heard(1000, 1), heard(1000, 3), heard(2000, 3)], [0, 2, 4]);
  });

  it("breaks a limit at the number of orgs that is found by halving", () => {
    const costs = { ...free, start: { ...nothing, databaseMilliseconds: 10 } };
    const at = orgsAt((orgs) => needsOf(costs, orgs, busiest, 1e6).shares["PostgreSQL's processors"]);
    // 0.01 ms a second and org.
    const exact = (limits.databaseProcessors * 1_000 * limits.utilisation) / 0.01;
    assert(at <= exact && at > exact * 0.98, `${at} and ${exact}`);
  });

  it("are as many servers as their streams and their processors take", () => {
    const costs = { ...free, start: { ...nothing, serverMilliseconds: 60 } };
    const { servers } = needsOf(costs, 100_000, busiest, 1e6);
    // 6 s of processor time a second, of which a server does 0.6; 500,000 streams are 50 servers.
    assert.equal(servers, 50);
    assert.equal(
      needsOf({ ...costs, start: { ...nothing, serverMilliseconds: 600 } }, 100_000, busiest, 1e6).servers,
      100,
    );
  });
});
