import assert from "node:assert/strict";
import fc from "fast-check";
import { utcDay } from "../../../src/contract/time.ts";
import { type AskedStart, hasStarted, quiet, refusalOf, startedCore } from "../startedCore.ts";

/** A line for the places of one org, on a real database and a clock that the test turns. */
async function placesAt(start: string, runsPerDay = 50, parallelRuns = 1) {
  const core = await startedCore(start);
  const key = await core.key("acme", { runsPerDay, parallelRuns });
  const idleAlarms = core.clock.alarms;
  return {
    clock: core.clock,
    key,
    get admission() {
      return core.core.admission;
    },
    runs: core.core.runs,
    ask: (waitSeconds: number, idempotencyKey?: string) => core.ask(key, waitSeconds, { idempotencyKey }),
    /** The same start each time. */
    repeat: (idempotencyKey: string) => core.ask(key, 0, { idempotencyKey, name: "nightly" }),
    /** Asks, and begins the run only when told to. */
    askUntold: (waitSeconds: number) => core.ask(key, waitSeconds, { isTold: false }),
    /** The processes of a request's run are gone, and nothing has come of that yet. */
    end(request: AskedStart) {
      assert(request.outcome?.kind === "started");
      core.jobs.get(request.outcome.run.runId)?.end();
    },
    async stop(request: AskedStart) {
      this.end(request);
      await quiet();
    },
    /** How many alarms are set for those in line and in work. */
    alarms: () => core.clock.alarms - idleAlarms,
    rows: core.rows,
    used: () => core.used(key),
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  };
}

describe("the line for an org's places", () => {
  it("starts at once where the place is free", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const first = line.ask(0);
    await quiet();
    assert.equal(first.outcome?.kind, "started");
    assert.equal(await line.used(), 1);
  });

  it("refuses a second run with scope org, makes no run and counts none", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    line.ask(0);
    const second = line.ask(0);
    await quiet();
    assert.deepEqual(refusalOf(second), { scope: "org" });
    assert.equal((await line.rows()).length, 1);
    assert.equal(await line.used(), 1);
  });

  it("tells a key that is sent again the run that it has started, also behind another's refusal", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const first = line.repeat("w");
    const other = line.ask(0, "v");
    const again = line.repeat("w");
    await quiet();
    assert(first.outcome?.kind === "started" && again.outcome?.kind === "repeated");
    assert.equal(again.outcome.run.runId, first.outcome.run.runId);
    assert.equal(other.outcome?.kind, "refused");
    assert.equal(await line.used(), 1);
  });

  it("hands the place on in the order of asking, the moment it is given up", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const holder = line.ask(0);
    const first = line.ask(120);
    const second = line.ask(120);
    await quiet();
    assert(!hasStarted(first));
    await line.stop(holder);
    assert(hasStarted(first));
    assert(!hasStarted(second));
    await line.stop(first);
    assert(hasStarted(second));
    await line.stop(second);
    assert.equal(line.alarms(), 0);
  });

  it("hands the place on in the very commit that gives it up", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const key = await core.key();
    const holder = core.ask(key, 0);
    const waiters = [core.ask(key, 120, { isTold: false }), core.ask(key, 120)];
    await quiet();
    assert(holder.outcome?.kind === "started");
    const before = core.commits;
    core.jobs.get(holder.outcome.run.runId)?.end();
    await quiet();
    assert.deepEqual(waiters.map(hasStarted), [true, false]);
    const [ended, next] = await core.rows();
    assert(ended?.stopped_at !== null && next?.stopped_at === null);
    assert.equal(core.commits, before + 1);
  });

  it("refuses with scope org once the wait is over, not a moment before", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    line.ask(0);
    const waiter = line.ask(120);
    line.clock.turn(119_999);
    await quiet();
    assert.equal(waiter.outcome, undefined);
    line.clock.turn(1);
    await quiet();
    assert.deepEqual(refusalOf(waiter), { scope: "org" });
    assert.equal(await line.used(), 1);
  });

  it("lets a waiter leave, which uses no run and passes its turn on", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const holder = line.ask(0);
    const first = line.ask(120);
    const second = line.ask(120);
    await quiet();
    first.leave();
    await line.stop(holder);
    assert.match(String(first.left), /left/);
    assert.equal(second.outcome?.kind, "started");
    assert.equal(await line.used(), 2);
  });

  it("takes back a run whose caller left before hearing of it: it never was, and the line goes on", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const unheard = line.askUntold(0);
    const next = line.ask(120);
    await quiet();
    assert(unheard.outcome?.kind === "started");
    line.runs.withdraw(unheard.outcome.run.runId);
    await quiet();
    assert(hasStarted(next));
    assert.equal((await line.rows()).length, 1);
    assert.equal(await line.used(), 1);
  });

  it("tells a used-up day before a taken place, with the seconds to 00:00 UTC", async () => {
    await using line = await placesAt("2026-03-04T23:58:59.500Z", 1);
    line.ask(0);
    const second = line.ask(120);
    await quiet();
    assert.deepEqual(refusalOf(second), { scope: "free-day", secondsToReset: 61 });
  });

  it("ends a wait early when the day's last run has gone to someone before", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z", 2);
    const holder = line.ask(0);
    const last = line.ask(120);
    const late = line.ask(120);
    await quiet();
    await line.stop(holder);
    assert.equal(last.outcome?.kind, "started");
    assert.equal(late.outcome?.kind, "refused");
    assert.equal(late.outcome?.kind === "refused" && late.outcome.refusal.scope, "free-day");
  });

  it("counts anew at 00:00 UTC, and a run counts in the day that it started in", async () => {
    await using line = await placesAt("2026-03-04T23:59:59Z", 1);
    const before = line.ask(0);
    await quiet();
    line.clock.turn(1_000);
    assert.equal(await line.used(), 0);
    await line.stop(before);
    const after = line.ask(0);
    await quiet();
    assert.equal(after.outcome?.kind, "started");
    assert.equal(await line.used(), 1);
  });

  it("is not overtaken by one who doesn't wait and asks in the moment that the place is given up", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const holder = line.ask(0);
    const waiter = line.ask(120);
    await quiet();
    line.end(holder);
    const [before, after] = [line.ask(0), line.ask(0)];
    await quiet();
    assert(hasStarted(waiter));
    for (const asked of [before, after]) assert.deepEqual(refusalOf(asked), { scope: "org" });
    const [first, second] = await line.rows();
    assert.equal(second?.created_at, first?.stopped_at, "time passed between the two");
    assert.equal(await line.used(), 2);
  });

  it("gives the place to a waiter before one who doesn't wait and asked later, and refuses that one at once", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const holder = line.ask(0);
    const requests = [line.ask(120), line.ask(0), line.ask(120)];
    await quiet();
    assert.deepEqual(
      requests.map(({ outcome }) => outcome?.kind),
      [undefined, "refused", undefined],
    );
    await line.stop(holder);
    assert.deepEqual(
      requests.map(({ outcome }) => outcome?.kind),
      ["started", "refused", undefined],
    );
  });

  it("answers one whose wait is over in the moment that the place is given up once, and loses no place by it", async () => {
    for (const isFreedFirst of [true, false]) {
      await using line = await placesAt("2026-03-04T12:00:00Z");
      const holder = line.ask(0);
      const waiter = line.ask(5);
      await quiet();
      if (isFreedFirst) line.end(holder);
      line.clock.turn(5_000);
      if (!isFreedFirst) line.end(holder);
      await quiet();
      assert(waiter.outcome !== undefined);
      const next = line.ask(0);
      await quiet();
      assert.notEqual(hasStarted(waiter), hasStarted(next));
      assert.equal(await line.used(), 2);
    }
  });

  it("lets nobody's turn be disturbed by 00:00 UTC", async () => {
    await using line = await placesAt("2026-03-04T23:59:30Z");
    const holder = line.ask(0);
    const waiters = [line.ask(120), line.ask(120), line.ask(120)];
    await quiet();
    line.clock.turn(60_000);
    await quiet();
    assert.deepEqual(
      waiters.map(({ outcome }) => outcome),
      [undefined, undefined, undefined],
    );
    assert.equal(await line.used(), 0);
    await line.stop(holder);
    assert.deepEqual(waiters.map(hasStarted), [true, false, false]);
    assert.equal(await line.used(), 1);
  });

  it("lets as many run as the org has places, and hands on each that comes free", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z", 50, 2);
    const requests = [0, 0, 120, 120, 120].map((wait) => line.ask(wait));
    const [first, second, third, fourth] = requests;
    assert(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
    await quiet();
    assert.deepEqual(requests.map(hasStarted), [true, true, false, false, false]);
    await line.stop(second);
    assert.deepEqual(requests.map(hasStarted), [true, true, true, false, false]);
    // Two at the same moment.
    line.end(first);
    line.end(third);
    await quiet();
    assert(requests.every(hasStarted));
    assert.equal(await line.used(), 5);
  });

  it("keeps the lines of orgs apart", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const [one, other] = [await core.key("one"), await core.key("other")];
    core.ask(one, 0);
    const waiting = core.ask(one, 120);
    const elsewhere = core.ask(other, 0);
    await quiet();
    assert.deepEqual([waiting, elsewhere].map(hasStarted), [false, true]);
  });

  it("gives the first run again to a repeated idempotency key, and counts it once", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const wish = {
      orgId: line.key.orgId,
      actor: line.key.keyId,
      project: "shop",
      pipeline: "nightly",
      timeLimitSeconds: 30,
      idempotencyKey: "one-wish",
      work: { root: "/", pipeline: { name: "nightly", timeLimitSeconds: 30, resources: [], steps: [] } },
    };
    const never = new AbortController().signal;
    const first = await line.admission.enter(wish, 0, never);
    const again = await line.admission.enter(wish, 0, never);
    assert(first.kind === "started" && again.kind === "repeated");
    assert.equal(again.run.runId, first.run.runId);
    assert.equal(await line.used(), 1);
    await assert.rejects(
      line.admission.enter({ ...wish, pipeline: "another" }, 0, never),
      /Idempotency-Key has started a run of `nightly`/,
    );
  });

  it("answers everyone in line when the service ends", async () => {
    await using line = await placesAt("2026-03-04T12:00:00Z");
    const holder = line.ask(0);
    const waiter = line.ask(120);
    await quiet();
    await line.admission.close();
    await quiet();
    assert.match(String(waiter.left), /stopping/);
    await line.stop(holder);
    assert.equal(line.alarms(), 0);
  });

  it("keeps every rule, whatever happens in whatever order", async () => {
    const happening = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ act: fc.constant("ask" as const), wait: fc.constantFrom(0, 5, 120) }),
      },
      { weight: 3, arbitrary: fc.record({ act: fc.constant("stop" as const) }) },
      { weight: 1, arbitrary: fc.record({ act: fc.constant("leave" as const), which: fc.nat(20) }) },
      {
        weight: 2,
        arbitrary: fc.record({
          act: fc.constant("turn" as const),
          seconds: fc.constantFrom(1, 30, 121, 40_000),
        }),
      },
      // Without a pause to settle: several things happen at once.
      { weight: 2, arbitrary: fc.record({ act: fc.constant("settle" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 60 }), async (happenings) => {
        await using line = await placesAt("2026-03-04T20:00:00Z", 4);
        const requests: (AskedStart & { patient: boolean })[] = [];
        const inWork = () =>
          requests.filter(({ outcome }) => outcome?.kind === "started" && !stopped.has(outcome.run.runId));
        const stopped = new Set<string>();
        for (const happening of happenings) {
          switch (happening.act) {
            case "ask":
              requests.push(Object.assign(line.ask(happening.wait), { patient: happening.wait > 0 }));
              break;
            case "stop": {
              await quiet();
              const [holder] = inWork();
              if (holder?.outcome?.kind === "started") {
                stopped.add(holder.outcome.run.runId);
                await line.stop(holder);
              }
              break;
            }
            case "leave":
              requests[happening.which]?.leave();
              break;
            case "turn":
              line.clock.turn(happening.seconds * 1000);
              break;
            case "settle":
              await quiet();
              break;
            default:
              happening satisfies never;
          }
          assert(inWork().length <= 1, "two runs in work");
        }
        await quiet();
        const rows = await line.rows();
        assert(rows.filter(({ stopped_at }) => stopped_at === null).length <= 1, "two rows in work");
        for (const day of new Set(rows.map((row) => row.day))) {
          assert(rows.filter((row) => row.day === day).length <= 4, "a fifth run of a day");
        }
        // Every row is a run that somebody was told of: no count for a refused start, none for who had left.
        const told = requests.flatMap(({ outcome }) =>
          outcome?.kind === "started" ? [outcome.run.runId] : [],
        );
        assert.deepEqual(rows.map(({ id }) => id).sort(), [...told].sort());
        // First come, first served among those who stood in line.
        const patient = requests.filter((request) => request.patient && request.outcome?.kind === "started");
        const startedOrder = rows
          .map(({ pipeline }) => pipeline)
          .filter((name) => patient.some((one) => one.name === name));
        assert.deepEqual(
          startedOrder,
          patient.map(({ name }) => name),
        );
        // Nobody waits for a place that is free.
        const waiting = requests.filter(({ outcome, left }) => outcome === undefined && left === undefined);
        const usedToday = rows.filter(({ day }) => day === utcDay(line.clock.now())).length;
        if (waiting.length > 0)
          assert(inWork().length === 1 && usedToday < 4, "someone waits for a free place");
      }),
      { numRuns: 40 },
    );
  });
});
