import assert from "node:assert/strict";
import { onBoth, type Store } from "../onBoth.ts";
import { type AskedStart, hasStarted, refusalOf } from "../startedCore.ts";
import { startedOn } from "../startedCores.ts";

function isAnswered({ outcome }: AskedStart): boolean {
  return outcome !== undefined;
}

async function twoRunsADayOn(store: Store, start: string) {
  const core = await startedOn(store, start);
  const key = await core.key("acme", { runsPerDay: 2 });
  const ask = (waitSeconds = 0): Promise<AskedStart> => core.asked(key, waitSeconds);
  return Object.assign(core, {
    ask1: ask,
    /** One run from its start to its end. */
    async run(): Promise<void> {
      assert(hasStarted(await ask()));
      for (const job of [...core.jobs.values()]) job.end();
      await core.quiet();
    },
    /** The scope and the seconds of a start that is refused. */
    async refusal() {
      const { outcome } = await ask();
      assert(outcome?.kind === "refused");
      return outcome.refusal;
    },
    today: () => core.used(key),
  });
}

onBoth("a clock that is set", (store) => {
  const twoRunsADay = (start: string) => twoRunsADayOn(store, start);

  it("back over midnight, to a day that is used up, gives no run more; forward again, what was left is left", async () => {
    await using core = await twoRunsADay("2026-03-04T23:00:00Z");
    await core.run();
    await core.run();
    await core.set("2026-03-05T00:10:00Z");
    await core.run();
    assert.equal(await core.today(), 1);
    await core.set("2026-03-04T23:59:00Z");
    assert.equal(await core.today(), 2);
    assert.deepEqual(await core.refusal(), { scope: "free-day", secondsToReset: 60 });
    await core.set("2026-03-05T00:20:00Z");
    assert.equal(await core.today(), 1);
    await core.run();
    assert.equal((await core.refusal()).scope, "free-day");
    assert.equal((await core.rows()).length, 4);
  });

  it("back over midnight also while no service runs loses no count", async () => {
    await using core = await twoRunsADay("2026-03-04T23:00:00Z");
    await core.run();
    await core.run();
    await core.crash();
    await core.set("2026-03-06T08:00:00Z");
    await core.start();
    await core.run();
    await core.crash();
    await core.set("2026-03-04T08:00:00Z");
    await core.start();
    assert.equal((await core.refusal()).scope, "free-day");
    assert.equal(await core.today(), 2);
    const ids = (await core.rows()).map(({ id, created_at }) => ({ id, created_at }));
    assert.equal(ids.length, 3);
  });

  it("to a used-up day while someone waits ends that wait when the slot is released, and no run comes of it", async () => {
    await using core = await twoRunsADay("2026-03-04T23:00:00Z");
    await core.run();
    await core.run();
    await core.set("2026-03-05T00:10:00Z");
    assert(hasStarted(await core.ask1()));
    const waiter = await core.ask1(120);
    await core.set("2026-03-04T23:58:00Z");
    for (const job of [...core.jobs.values()]) job.end();
    await core.quiet();
    assert.deepEqual(refusalOf(waiter), { scope: "free-day", secondsToReset: 120 });
    assert.equal((await core.rows()).length, 3);
  });

  it("neither ends a wait or a run early nor keeps it longer: those go by the time that passes", async () => {
    await using core = await twoRunsADay("2026-03-04T12:00:00Z");
    const holder = await core.ask1();
    assert(holder.outcome?.kind === "started");
    const job = core.jobs.get(holder.outcome.run.runId);
    const waiter = await core.ask1(20);
    await core.set("2026-03-04T15:00:00Z");
    await core.turn(19_999);
    await core.set("2026-03-04T09:00:00Z");
    await core.quiet();
    assert(!isAnswered(waiter));
    assert.equal(job?.stopped, false);
    await core.turn(1);
    await core.quiet();
    assert.deepEqual(refusalOf(waiter), { scope: "org" });
    await core.turn(9_999);
    assert.equal(job?.stopped, false);
    await core.turn(1);
    assert.equal(job?.stopped, true);
  });

  it("back while a run is active shows no run that stopped before it began", async () => {
    await using core = await twoRunsADay("2026-03-05T00:10:00Z");
    assert(hasStarted(await core.ask1()));
    await core.set("2026-03-04T23:50:00Z");
    for (const job of [...core.jobs.values()]) job.end();
    await core.quiet();
    const [row] = await core.rows();
    assert.equal(row?.stopped_at, row?.created_at);
    assert.equal(row?.day, "2026-03-05");
  });
});
