import assert from "node:assert/strict";
import fc from "fast-check";
import { utcDay } from "../../../src/contract/time.ts";
import { Admission } from "../../../src/service/admission/admission.ts";
import { countWaiters } from "../../../src/service/admission/queue.ts";
import { sqliteAdmission } from "../../../src/service/admission/sqliteAdmission.ts";
import { type AskedStart, hasStarted, quiet, refusalOf, startedCore } from "../startedCore.ts";

/** A line for the slots of one org, on a real database and a clock that the test turns. */
async function slotsAt(start: string, runsPerDay = 50, parallelRuns = 1) {
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
    /** How many alarms are set for those in the queue and active. */
    alarms: () => core.clock.alarms - idleAlarms,
    rows: core.rows,
    used: () => core.used(key),
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  };
}

describe("the queue for an org's slots", () => {
  it("starts at once where the slot is free", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const first = queue.ask(0);
    await quiet();
    assert.equal(first.outcome?.kind, "started");
    assert.equal(await queue.used(), 1);
  });

  it("refuses a second run with scope org, makes no run and counts none", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    queue.ask(0);
    const second = queue.ask(0);
    await quiet();
    assert.deepEqual(refusalOf(second), { scope: "org" });
    assert.equal((await queue.rows()).length, 1);
    assert.equal(await queue.used(), 1);
  });

  it("tells a key that is sent again the run that it has started, also behind another's refusal", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const first = queue.repeat("w");
    const other = queue.ask(0, "v");
    const again = queue.repeat("w");
    await quiet();
    assert(first.outcome?.kind === "started" && again.outcome?.kind === "repeated");
    assert.equal(again.outcome.run.runId, first.outcome.run.runId);
    assert.equal(other.outcome?.kind, "refused");
    assert.equal(await queue.used(), 1);
  });

  it("hands the slot on in the order of asking, the moment it is given up", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = queue.ask(0);
    const first = queue.ask(120);
    const second = queue.ask(120);
    await quiet();
    assert(!hasStarted(first));
    await queue.stop(holder);
    assert(hasStarted(first));
    assert(!hasStarted(second));
    await queue.stop(first);
    assert(hasStarted(second));
    await queue.stop(second);
    assert.equal(queue.alarms(), 0);
  });

  it("hands the slot on in the very commit that gives it up", async () => {
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
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    queue.ask(0);
    const waiter = queue.ask(120);
    queue.clock.turn(119_999);
    await quiet();
    assert.equal(waiter.outcome, undefined);
    queue.clock.turn(1);
    await quiet();
    assert.deepEqual(refusalOf(waiter), { scope: "org" });
    assert.equal(await queue.used(), 1);
  });

  it("lets a waiter leave, which uses no run and passes its turn on", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = queue.ask(0);
    const first = queue.ask(120);
    const second = queue.ask(120);
    await quiet();
    first.leave();
    await queue.stop(holder);
    assert.match(String(first.left), /left/);
    assert.equal(second.outcome?.kind, "started");
    assert.equal(await queue.used(), 2);
  });

  it("takes back a run whose caller left before hearing of it: it never was, and the queue goes on", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const unheard = queue.askUntold(0);
    const next = queue.ask(120);
    await quiet();
    assert(unheard.outcome?.kind === "started");
    queue.runs.withdraw(unheard.outcome.run.runId);
    await quiet();
    assert(hasStarted(next));
    assert.equal((await queue.rows()).length, 1);
    assert.equal(await queue.used(), 1);
  });

  it("tells a used-up day before a taken slot, with the seconds to 00:00 UTC", async () => {
    await using queue = await slotsAt("2026-03-04T23:58:59.500Z", 1);
    queue.ask(0);
    const second = queue.ask(120);
    await quiet();
    assert.deepEqual(refusalOf(second), { scope: "free-day", secondsToReset: 61 });
  });

  it("ends a wait early when the day's last run has gone to someone before", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z", 2);
    const holder = queue.ask(0);
    const last = queue.ask(120);
    const late = queue.ask(120);
    await quiet();
    await queue.stop(holder);
    assert.equal(last.outcome?.kind, "started");
    assert.equal(late.outcome?.kind, "refused");
    assert.equal(late.outcome?.kind === "refused" && late.outcome.refusal.scope, "free-day");
  });

  it("counts anew at 00:00 UTC, and a run counts in the day that it started in", async () => {
    await using queue = await slotsAt("2026-03-04T23:59:59Z", 1);
    const before = queue.ask(0);
    await quiet();
    queue.clock.turn(1_000);
    assert.equal(await queue.used(), 0);
    await queue.stop(before);
    const after = queue.ask(0);
    await quiet();
    assert.equal(after.outcome?.kind, "started");
    assert.equal(await queue.used(), 1);
  });

  it("is not overtaken by one who doesn't wait and asks in the moment that the slot is given up", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = queue.ask(0);
    const waiter = queue.ask(120);
    await quiet();
    queue.end(holder);
    const [before, after] = [queue.ask(0), queue.ask(0)];
    await quiet();
    assert(hasStarted(waiter));
    for (const asked of [before, after]) assert.deepEqual(refusalOf(asked), { scope: "org" });
    const [first, second] = await queue.rows();
    assert.equal(second?.created_at, first?.stopped_at, "time passed between the two");
    assert.equal(await queue.used(), 2);
  });

  it("gives the slot to a waiter before one who doesn't wait and asked later, and refuses that one at once", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = queue.ask(0);
    const requests = [queue.ask(120), queue.ask(0), queue.ask(120)];
    await quiet();
    assert.deepEqual(
      requests.map(({ outcome }) => outcome?.kind),
      [undefined, "refused", undefined],
    );
    await queue.stop(holder);
    assert.deepEqual(
      requests.map(({ outcome }) => outcome?.kind),
      ["started", "refused", undefined],
    );
  });

  it("answers one whose wait is over in the moment that the slot is given up once, and loses no slot by it", async () => {
    for (const isFreedFirst of [true, false]) {
      await using queue = await slotsAt("2026-03-04T12:00:00Z");
      const holder = queue.ask(0);
      const waiter = queue.ask(5);
      await quiet();
      if (isFreedFirst) queue.end(holder);
      queue.clock.turn(5_000);
      if (!isFreedFirst) queue.end(holder);
      await quiet();
      assert(waiter.outcome !== undefined);
      const next = queue.ask(0);
      await quiet();
      assert.notEqual(hasStarted(waiter), hasStarted(next));
      assert.equal(await queue.used(), 2);
    }
  });

  it("lets nobody's turn be disturbed by 00:00 UTC", async () => {
    await using queue = await slotsAt("2026-03-04T23:59:30Z");
    const holder = queue.ask(0);
    const waiters = [queue.ask(120), queue.ask(120), queue.ask(120)];
    await quiet();
    queue.clock.turn(60_000);
    await quiet();
    assert.deepEqual(
      waiters.map(({ outcome }) => outcome),
      [undefined, undefined, undefined],
    );
    assert.equal(await queue.used(), 0);
    await queue.stop(holder);
    assert.deepEqual(waiters.map(hasStarted), [true, false, false]);
    assert.equal(await queue.used(), 1);
  });

  it("lets as many run as the org has slots, and hands on each that comes free", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z", 50, 2);
    const requests = [0, 0, 120, 120, 120].map((wait) => queue.ask(wait));
    const [first, second, third, fourth] = requests;
    assert(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
    await quiet();
    assert.deepEqual(requests.map(hasStarted), [true, true, false, false, false]);
    await queue.stop(second);
    assert.deepEqual(requests.map(hasStarted), [true, true, true, false, false]);
    // Two at the same moment.
    queue.end(first);
    queue.end(third);
    await quiet();
    assert(requests.every(hasStarted));
    assert.equal(await queue.used(), 5);
  });

  it("keeps the queues of orgs apart", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const [one, other] = [await core.key("one"), await core.key("other")];
    core.ask(one, 0);
    const waiting = core.ask(one, 120);
    const elsewhere = core.ask(other, 0);
    await quiet();
    assert.deepEqual([waiting, elsewhere].map(hasStarted), [false, true]);
  });

  it("gives the first run again to a repeated idempotency key, and counts it once", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const request = {
      orgId: queue.key.orgId,
      actor: queue.key.keyId,
      project: "shop",
      pipeline: "nightly",
      timeLimitSeconds: 30,
      idempotencyKey: "one-request",
      work: { root: "/", pipeline: { name: "nightly", timeLimitSeconds: 30, resources: [], steps: [] } },
    };
    const never = new AbortController().signal;
    const first = await queue.admission.enter(request, 0, never);
    const again = await queue.admission.enter(request, 0, never);
    assert(first.kind === "started" && again.kind === "repeated");
    assert.equal(again.run.runId, first.run.runId);
    assert.equal(await queue.used(), 1);
    await assert.rejects(
      queue.admission.enter({ ...request, pipeline: "another" }, 0, never),
      /Idempotency-Key has started a run of `nightly`/,
    );
  });

  it("leaves nothing behind of a caller who closes the connection while it is given its ticket", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const key = await core.key();
    core.ask(key, 0);
    await quiet();
    const leaving = new AbortController();
    const { writer, bus, makeId, runs } = core.core;
    const admission = new Admission({
      ...{
        writer,
        bus,
        clock: core.clock,
        log: () => {},
        runner: "test",
        holder: "test",
        makeId,
      },
      store: sqliteAdmission({
        now: core.clock.now,
        makeId(kind) {
          if (kind === "ticket") leaving.abort(new Error("left"));
          return makeId(kind);
        },
      }),
      makeRuns: () => runs,
    });
    const request = {
      ...{ orgId: key.orgId, actor: key.keyId, project: "shop", pipeline: "nightly", timeLimitSeconds: 30 },
      idempotencyKey: undefined,
      work: { root: "/", pipeline: { name: "nightly", timeLimitSeconds: 30, resources: [], steps: [] } },
    };
    await assert.rejects(admission.enter(request, 120, leaving.signal), /left/);
    await quiet();
    assert.equal(admission.waiting, 0);
    assert.equal(await countWaiters(core.db, key.orgId), 0);
  });

  it("answers everyone in the queue when the service ends", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = queue.ask(0);
    const waiter = queue.ask(120);
    await quiet();
    await queue.admission.close();
    await quiet();
    assert.match(String(waiter.left), /stopping/);
    await queue.stop(holder);
    assert.equal(queue.alarms(), 0);
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
        await using queue = await slotsAt("2026-03-04T20:00:00Z", 4);
        const requests: (AskedStart & { patient: boolean })[] = [];
        const active = () =>
          requests.filter(({ outcome }) => outcome?.kind === "started" && !stopped.has(outcome.run.runId));
        const stopped = new Set<string>();
        for (const happening of happenings) {
          switch (happening.act) {
            case "ask":
              requests.push(Object.assign(queue.ask(happening.wait), { patient: happening.wait > 0 }));
              break;
            case "stop": {
              await quiet();
              const [holder] = active();
              if (holder?.outcome?.kind === "started") {
                stopped.add(holder.outcome.run.runId);
                await queue.stop(holder);
              }
              break;
            }
            case "leave":
              requests[happening.which]?.leave();
              break;
            case "turn":
              queue.clock.turn(happening.seconds * 1000);
              break;
            case "settle":
              await quiet();
              break;
            default:
              happening satisfies never;
          }
          assert(active().length <= 1, "two runs active");
        }
        await quiet();
        const rows = await queue.rows();
        assert(rows.filter(({ stopped_at }) => stopped_at === null).length <= 1, "two rows active");
        for (const day of new Set(rows.map((row) => row.day))) {
          assert(rows.filter((row) => row.day === day).length <= 4, "a fifth run of a day");
        }
        // Every row is a run that somebody was told of: no count for a refused start, none for who had left.
        const told = requests.flatMap(({ outcome }) =>
          outcome?.kind === "started" ? [outcome.run.runId] : [],
        );
        assert.deepEqual(rows.map(({ id }) => id).sort(), [...told].sort());
        // First come, first served among those who stood in queue.
        const patient = requests.filter((request) => request.patient && request.outcome?.kind === "started");
        const startedOrder = rows
          .map(({ pipeline }) => pipeline)
          .filter((name) => patient.some((one) => one.name === name));
        assert.deepEqual(
          startedOrder,
          patient.map(({ name }) => name),
        );
        // Nobody waits for a slot that is free.
        const waiting = requests.filter(({ outcome, left }) => outcome === undefined && left === undefined);
        const usedToday = rows.filter(({ day }) => day === utcDay(queue.clock.now())).length;
        if (waiting.length > 0)
          assert(active().length === 1 && usedToday < 4, "someone waits for a free slot");
      }),
      { numRuns: 40 },
    );
  });
});
