import assert from "node:assert/strict";
import fc from "fast-check";
import type { Numbers } from "../../../src/cli/commands/org.ts";
import { StartGuard } from "../../../src/cli/mcp/agentSession.ts";

const noon = Date.UTC(2026, 10, 23, 12);
const day = 86_400;

/** What the service says of an org with 50 runs a day and one slot. */
function seen(runsToday: number, held: boolean, servedAt: number | undefined = noon): Numbers {
  return {
    org: {
      orgId: "org_1",
      orgName: "Acme",
      tier: "free",
      limits: { parallelRuns: 1, runsPerDay: 50 },
      usage: { runsToday },
      actor: "key_1",
    },
    servedAt,
    runsInWork: held ? [{ runId: "run_1", status: "running" } as const].map(asRun) : [],
  };
}

const asRun = (run: { runId: string; status: string }): NonNullable<Numbers["runsInWork"]>[number] => ({
  ...run,
  actor: undefined,
  pipeline: undefined,
  project: undefined,
  runner: undefined,
  createdAt: undefined,
  stoppedAt: undefined,
  timeLimitSeconds: undefined,
  reason: undefined,
  steps: undefined,
  artifacts: undefined,
});

function guardAt(maxRuns: number | undefined = undefined, reserve = 0) {
  const clock = { time: noon, now: () => clock.time };
  return { clock, guard: new StartGuard({ maxRuns, reserve }, clock) };
}

const holder = { runId: "run_1", isYours: true };

describe("the guard of an agent's starts", () => {
  it("answers for a taken slot until it is seen free, for some seconds", () => {
    const { clock, guard } = guardAt();
    assert.equal(guard.known(), undefined);
    const refusal = guard.taken(seen(1, true), holder);
    assert.deepEqual([refusal.scope, refusal.retryable, refusal.retryAfterSeconds], ["org", true, 15]);
    assert.match(refusal.next, /wait_for_run with run-id run_1/);
    clock.time += 14_000;
    guard.see(seen(1, true));
    assert.equal(guard.known()?.retryAfterSeconds, 1);
    clock.time += 1000;
    assert.equal(guard.known(), undefined, "the service is asked again");
    guard.taken(seen(1, true), holder);
    guard.see(seen(1, false));
    assert.equal(guard.known(), undefined, "the slot was seen free");
  });

  it("remembers no slot that has become free in between", () => {
    const { guard } = guardAt();
    assert.equal(guard.taken(seen(1, false), undefined).retryAfterSeconds, 1);
    assert.equal(guard.known(), undefined);
  });

  it("answers for a used-up day until 00:00 UTC of the service's clock, whatever this machine's is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: day }), fc.integer({ min: -day, max: day }), (left, off) => {
        const { clock, guard } = guardAt();
        clock.time += off * 1000;
        const reset = noon + (day / 2) * 1000;
        const refusal = guard.usedUp(seen(50, false, reset - left * 1000));
        assert.equal(refusal.retryable, false);
        assert.equal(refusal.retryAfterSeconds, left);
        assert.equal(refusal.resetsAt, new Date(reset).toISOString());
        clock.time += left * 1000 - 1;
        assert.equal(guard.known()?.scope, "free-day");
        clock.time += 1;
        assert.equal(guard.known(), undefined);
      }),
    );
  });

  it("forgets a used-up day when the service says that runs are left", () => {
    const { guard } = guardAt();
    guard.usedUp(seen(50, false));
    guard.see(seen(50, false));
    assert.equal(guard.known()?.scope, "free-day");
    guard.see(seen(10, false));
    assert.equal(guard.known(), undefined);
  });

  it("leaves the last of the day to people, and a used-up day to the service's refusal", () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(60), (used, reserve) => {
        const { guard } = guardAt(undefined, reserve);
        const left = 50 - used;
        const refusal = guard.reserved(seen(used, false));
        assert.equal(refusal?.scope, left > 0 && left <= reserve ? "reserve" : undefined);
        assert.equal(guard.known()?.scope, refusal?.scope);
        assert.equal(guard.startsLeft(seen(used, false).org), Math.max(0, left - reserve));
      }),
    );
  });

  it("never lets more starts through than --max-runs, however many come at once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(5),
        fc.array(fc.record({ turns: fc.nat(3), starts: fc.boolean() }), { maxLength: 20 }),
        async (maxRuns, calls) => {
          const { guard } = guardAt(maxRuns);
          let through = 0;
          await Promise.all(
            calls
              .map(({ turns, starts }) =>
                guard.oneAtATime(async () => {
                  if (guard.known() !== undefined) return;
                  for (let turn = 0; turn < turns; turn++) await Promise.resolve();
                  if (!starts) throw new Error("out of reach");
                  through += 1;
                  guard.count();
                }),
              )
              .map((turn) => turn.catch(() => undefined)),
          );
          assert.equal(through, Math.min(maxRuns, calls.filter(({ starts }) => starts).length));
          assert.equal(guard.known()?.scope, through === maxRuns ? "session" : undefined);
        },
      ),
    );
  });
});
