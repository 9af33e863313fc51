import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { Admission } from "../../../src/service/admission/admission.ts";
import { onBoth, type Store } from "../onBoth.ts";
import { type AskedStart, type AskedWith, hasStarted, refusalOf } from "../startedCore.ts";
import { startedOn } from "../startedCores.ts";

/** A line for the slots of one org, on a real database and a clock that the test turns. */
async function slotsOn(store: Store, start: string, runsPerDay = 50, parallelRuns = 1) {
  const core = await startedOn(store, start, 2);
  const key = await core.key("acme", { runsPerDay, parallelRuns });
  // What a service does again and again has no alarm while it does it.
  await core.quiet();
  const idleAlarms = core.clock.alarms;
  return {
    core,
    key,
    get admission() {
      return core.core.admission;
    },
    /** Asks, and lets come of it what may. */
    ask: (waitSeconds: number, more: AskedWith = {}) => core.asked(key, waitSeconds, more),
    askNow: (waitSeconds: number, more: AskedWith = {}) => core.ask(key, waitSeconds, more),
    async turn(milliseconds: number) {
      await core.turn(milliseconds);
      await core.quiet();
    },
    quiet: () => core.quiet(),
    end: (request: AskedStart) => core.end(request),
    async stop(request: AskedStart) {
      core.end(request);
      await core.quiet();
    },
    /** How many alarms are set for those in the queue and active. */
    alarms: () => core.clock.alarms - idleAlarms,
    rows: () => core.rows(),
    used: () => core.used(key),
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  };
}

onBoth("the queue for an org's slots", (store) => {
  const slotsAt = (...at: [string, number?, number?]) => slotsOn(store, ...at);

  it("starts at once where the slot is free", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const first = await queue.ask(0);
    assert.equal(first.outcome?.kind, "started");
    assert.equal(await queue.used(), 1);
  });

  it("refuses a second run with scope org, makes no run and counts none", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    await queue.ask(0);
    const second = await queue.ask(0);
    assert.deepEqual(refusalOf(second), { scope: "org" });
    assert.equal((await queue.rows()).length, 1);
    assert.equal(await queue.used(), 1);
  });

  it("tells a key that is sent again the run that it has started, also behind another's refusal", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const repeated = { idempotencyKey: "w", name: "nightly" };
    const first = await queue.ask(0, repeated);
    const other = queue.askNow(0, { idempotencyKey: "v" });
    const again = queue.askNow(0, repeated);
    await queue.quiet();
    assert(first.outcome?.kind === "started" && again.outcome?.kind === "repeated");
    assert.equal(again.outcome.run.runId, first.outcome.run.runId);
    assert.equal(other.outcome?.kind, "refused");
    assert.equal(await queue.used(), 1);
  });

  it("says of a run which agent started it, also of one that has waited", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0, { agent: "some-agent" });
    await queue.ask(120, { agent: "another agent" });
    await queue.stop(holder);
    const third = await queue.ask(120);
    assert.equal(third.outcome, undefined);
    assert.deepEqual(
      (await queue.rows()).map(({ agent }) => agent),
      ["some-agent", "another agent"],
    );
    assert(holder.outcome?.kind === "started");
    assert.equal(holder.outcome.run.agent, "some-agent");
  });

  it("says of a run when it was asked for: as it was created, or before it waited", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    await queue.ask(120);
    await queue.turn(5_000);
    await queue.stop(holder);
    assert.deepEqual(
      (await queue.rows()).map(({ asked_at, created_at }) => created_at - (asked_at ?? Number.NaN)),
      [0, 5_000],
    );
    assert(holder.outcome?.kind === "started");
    assert.equal(holder.outcome.run.askedAt, holder.outcome.run.createdAt);
  });

  it("hands the slot on in the order of asking, the moment it is given up", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const first = await queue.ask(120);
    const second = await queue.ask(120);
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
    await using core = await startedOn(store, "2026-03-04T12:00:00Z");
    const key = await core.key();
    const holder = await core.asked(key, 0);
    const waiters = [await core.asked(key, 120, { isTold: false }), await core.asked(key, 120)];
    assert(holder.outcome?.kind === "started");
    const before = core.commits;
    core.jobs.get(holder.outcome.run.runId)?.end();
    await core.quiet();
    assert.deepEqual(waiters.map(hasStarted), [true, false]);
    const [ended, next] = await core.rows();
    assert(ended?.stopped_at !== null && next?.stopped_at === null);
    assert.equal(core.commits, before + 1);
  });

  it("refuses with scope org once the wait is over, not a moment before", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    await queue.ask(0);
    const waiter = await queue.ask(120);
    await queue.turn(119_999);
    assert.equal(waiter.outcome, undefined);
    await queue.turn(1);
    assert.deepEqual(refusalOf(waiter), { scope: "org" });
    assert.equal(await queue.used(), 1);
  });

  // On the other database it is the same text, and a thousand connections.
  const itOnSqlite = store.kind === "SQLite" ? it : () => {};
  itOnSqlite("lets a thousand wait, and refuses one more at once", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    await queue.ask(0);
    const waiting = await Promise.all(Array.from({ length: 1_000 }, () => queue.askNow(120)));
    await queue.quiet();
    assert.deepEqual(
      waiting.filter(({ outcome }) => outcome !== undefined),
      [],
    );
    assert.deepEqual(refusalOf(await queue.ask(120)), { scope: "org" });
  });

  it("lets a waiter leave, which uses no run and passes its turn on", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const first = await queue.ask(120);
    const second = await queue.ask(120);
    first.leave();
    await queue.stop(holder);
    assert.match(String(first.left), /left/);
    assert.equal(second.outcome?.kind, "started");
    assert.equal(await queue.used(), 2);
  });

  it("takes back a run whose caller left before hearing of it: it never was, and the queue goes on", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const unheard = await queue.ask(0, { isTold: false });
    const next = await queue.ask(120);
    assert(unheard.outcome?.kind === "started");
    queue.core.core.runs.withdraw(unheard.outcome.run.runId);
    await queue.quiet();
    assert(hasStarted(next));
    assert.equal((await queue.rows()).length, 1);
    assert.equal(await queue.used(), 1);
  });

  it("tells a used-up day before a taken slot, with the seconds to 00:00 UTC", async () => {
    await using queue = await slotsAt("2026-03-04T23:58:59.500Z", 1);
    await queue.ask(0);
    const second = await queue.ask(120);
    assert.deepEqual(refusalOf(second), { scope: "free-day", secondsToReset: 61 });
  });

  it("ends a wait early when the day's last run has gone to someone before", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z", 2);
    const holder = await queue.ask(0);
    const last = await queue.ask(120);
    const late = await queue.ask(120);
    await queue.stop(holder);
    assert.equal(last.outcome?.kind, "started");
    assert.equal(late.outcome?.kind, "refused");
    assert.equal(late.outcome?.kind === "refused" && late.outcome.refusal.scope, "free-day");
  });

  it("counts anew at 00:00 UTC, and a run counts in the day that it started in", async () => {
    await using queue = await slotsAt("2026-03-04T23:59:59Z", 1);
    const before = await queue.ask(0);
    await queue.core.turn(1_000);
    assert.equal(await queue.used(), 0);
    await queue.stop(before);
    const after = await queue.ask(0);
    assert.equal(after.outcome?.kind, "started");
    assert.equal(await queue.used(), 1);
  });

  it("is not overtaken by one who doesn't wait and asks in the moment that the slot is given up", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const waiter = await queue.ask(120);
    queue.end(holder);
    const [before, after] = [queue.askNow(0), queue.askNow(0)];
    await queue.quiet();
    assert(hasStarted(waiter));
    for (const asked of [before, after]) assert.deepEqual(refusalOf(asked), { scope: "org" });
    const [first, second] = await queue.rows();
    assert.equal(second?.created_at, first?.stopped_at, "time passed between the two");
    assert.equal(await queue.used(), 2);
  });

  it("gives the slot to a waiter before one who doesn't wait and asked later, and refuses that one at once", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const requests = [await queue.ask(120), await queue.ask(0), await queue.ask(120)];
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
      const holder = await queue.ask(0);
      const waiter = await queue.ask(5);
      if (isFreedFirst) queue.end(holder);
      await queue.core.turn(5_000);
      if (!isFreedFirst) queue.end(holder);
      await queue.quiet();
      assert(waiter.outcome !== undefined);
      const next = await queue.ask(0);
      assert.notEqual(hasStarted(waiter), hasStarted(next));
      assert.equal(await queue.used(), 2);
    }
  });

  it("gives one whose wait is over the slot that the org has got meanwhile", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    await queue.ask(0);
    const waiter = await queue.ask(5);
    await queue.core.key("acme", { parallelRuns: 2 });
    await queue.turn(5_000);
    assert(hasStarted(waiter));
  });

  it("lets nobody's turn be disturbed by 00:00 UTC", async () => {
    await using queue = await slotsAt("2026-03-04T23:59:30Z");
    const holder = await queue.ask(0);
    const waiters = [await queue.ask(120), await queue.ask(120), await queue.ask(120)];
    await queue.turn(60_000);
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
    const requests: AskedStart[] = [];
    for (const wait of [0, 0, 120, 120, 120]) requests.push(await queue.ask(wait));
    const [first, second, third, fourth] = requests;
    assert(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
    assert.deepEqual(requests.map(hasStarted), [true, true, false, false, false]);
    await queue.stop(second);
    assert.deepEqual(requests.map(hasStarted), [true, true, true, false, false]);
    // Two at the same moment.
    queue.end(first);
    queue.end(third);
    await queue.quiet();
    assert(requests.every(hasStarted));
    assert.equal(await queue.used(), 5);
  });

  it("keeps the queues of orgs apart", async () => {
    await using core = await startedOn(store, "2026-03-04T12:00:00Z");
    const [one, other] = [await core.key("one"), await core.key("other")];
    await core.asked(one, 0);
    const waiting = await core.asked(one, 120);
    const elsewhere = await core.asked(other, 0);
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
      work: {
        root: "/",
        project: "p",
        pipeline: { name: "nightly", timeLimitSeconds: 30, resources: [], steps: [] },
      },
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
    assert.deepEqual(getEventListeners(never, "abort"), [], "an answered caller is still listened to");
  });

  it("keeps apart who waits with the idempotency key of another", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const same = { idempotencyKey: "one-request", name: "nightly" };
    const first = await queue.ask(120, same);
    const second = await queue.core.asked(await queue.core.key(), 120, same);
    await queue.stop(holder);
    assert(hasStarted(first));
    assert.equal(second.outcome, undefined);
  });

  it("leaves nothing behind of a caller who closes the connection while it is given its ticket", async () => {
    await using core = await startedOn(store, "2026-03-04T12:00:00Z");
    const key = await core.key();
    await core.asked(key, 0);
    const leaving = new AbortController();
    const adapter = core.storeOf(core.core);
    const addWaiter = adapter.addWaiter.bind(adapter);
    const { db, writer, bus, makeId, runs } = core.core;
    const admission = new Admission({
      ...{
        db,
        writer,
        bus,
        clock: core.clock,
        log: () => {},
        runner: "test",
        holder: "test",
        makeId,
      },
      store: Object.assign(adapter, {
        addWaiter(...waiter: Parameters<typeof addWaiter>) {
          leaving.abort(new Error("left"));
          return addWaiter(...waiter);
        },
      }),
      runs,
    });
    const request = {
      ...{ orgId: key.orgId, actor: key.keyId, project: "shop", pipeline: "nightly", timeLimitSeconds: 30 },
      idempotencyKey: undefined,
      work: {
        root: "/",
        project: "p",
        pipeline: { name: "nightly", timeLimitSeconds: 30, resources: [], steps: [] },
      },
    };
    await assert.rejects(admission.enter(request, 120, leaving.signal), /left/);
    await core.quiet();
    assert.equal(admission.waiting, 0);
    assert.equal((await admission.queue(key.orgId)).waiting.length, 0);
  });

  it("answers everyone in the queue when the service ends", async () => {
    await using queue = await slotsAt("2026-03-04T12:00:00Z");
    const holder = await queue.ask(0);
    const waiter = await queue.ask(120, { server: 0 });
    await queue.admission.close();
    await queue.quiet();
    assert.match(String(waiter.left), /stopping/);
    await queue.stop(holder);
    assert.equal(queue.alarms(), 0);
  });
});
