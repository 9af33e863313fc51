import assert from "node:assert/strict";
import type { StartAttempt } from "../../../../src/client/service/client.ts";
import { FakeClock } from "../../../clock/fakeClock.ts";
import { fillDayOf } from "../../../service/fillDay.ts";
import { onBoth } from "../../../service/onBoth.ts";
import { serviceOn } from "../../../service/serviceOn.ts";
import { hasStarted, quiet, refusalOf, startedCore } from "../../../service/startedCore.ts";
import { ended, programPipeline, started, untilCancelled } from "../../../service/startedService.ts";

const never = new AbortController().signal;

onBoth("many starts", (store) => {
  it("of one org at the same moment over HTTP: one runs, those that wait are held, the others are refused", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const rows = () => service.db.selectFrom("runs").selectAll().orderBy("id").execute();
    const leaving = new AbortController();
    const seen: StartAttempt[] = [];
    // On PostgreSQL each is a transaction, and who would wait too long for its turn is answered 503.
    const many = store.kind === "SQLite" ? 500 : 60;
    const asks = Array.from({ length: many }, (_, position) => {
      const waitSeconds = position % 2 === 0 ? 120 : 0;
      const asked = client
        .start(
          { pipeline: "long" },
          { waitSeconds, idempotencyKey: `start-${position}` },
          waitSeconds > 0 ? leaving.signal : never,
        )
        .then((attempt) => {
          seen.push(attempt);
          return { attempt, waitSeconds };
        });
      return { asked, waitSeconds };
    });
    const all = Promise.allSettled(asks.map(({ asked }) => asked));
    const impatient = asks.filter(({ waitSeconds }) => waitSeconds === 0);
    for (const { asked } of impatient) {
      const { attempt } = await asked;
      if (attempt.kind === "refused") assert.equal(attempt.refusal.scope, "org");
    }
    // The one that has the slot may be of either kind, and may not have been answered yet.
    const [first, ...others] = await rows();
    assert(first !== undefined);
    assert.deepEqual(others, []);
    assert.equal((await client.org(never)).usage.runsToday, 1);
    assert(seen.filter(({ kind }) => kind === "refused").length >= many / 2 - 1);

    // A slot that comes free goes to one of those who are held, and to one only.
    const held = asks.filter(({ waitSeconds }) => waitSeconds > 0);
    const second = Promise.race(
      held.map(async ({ asked }) => {
        const { attempt } = await asked;
        if (attempt.kind === "started" && attempt.run.runId !== first.id) return attempt.run;
        return new Promise<never>(() => {});
      }),
    );
    await client.cancel(first.id, never);
    const next = await second;
    assert.equal((await rows()).length, 2);
    leaving.abort(new Error("enough"));
    const settled = await all;
    assert.equal(settled.filter(({ status }) => status === "rejected").length, many - seen.length);
    assert.equal(seen.filter(({ kind }) => kind === "started").length, 2);
    await client.cancel(next.runId, never);
    await ended(client, next);
    assert.deepEqual(
      (await rows()).map(({ status }) => status),
      ["cancelled", "cancelled"],
    );
    assert.equal((await client.org(never)).usage.runsToday, 2);
  });

  it("of a day: the 51st is refused with scope free-day and Retry-After, and leaves 50", async () => {
    const clock = new FakeClock("2026-03-04T22:46:39Z");
    await using service = await serviceOn(store, { clock });
    const { client, secret, orgId } = await service.member();
    await service.write("hello", programPipeline(""));
    const filled = 47;
    await fillDayOf(service.db, filled, clock.now(), orgId);
    for (let count = filled + 1; count <= 50; count++) {
      assert.equal((await ended(client, await started(client, "hello", 120))).status, "succeeded");
      assert.equal((await client.org(never)).usage.runsToday, count);
    }
    const reply = await service.fetch("/api/runs", {
      method: "POST",
      headers: { "x-api-key": secret, prefer: "wait=120" },
      body: await service.startBody("hello"),
    });
    assert.equal(reply.status, 429);
    assert.equal(reply.headers.get("retry-after"), "4401");
    assert.equal(((await reply.json()) as { error: { scope: string } }).error.scope, "free-day");
    assert.equal((await service.db.selectFrom("runs").selectAll().execute()).length, 50);
    assert.equal((await client.org(never)).usage.runsToday, 50);
  });
});

describe("many starts of the embedded service", () => {
  it("that wait beyond the most that are held are refused at once, and nothing is kept of those that leave", async () => {
    await using core = await startedCore("2026-03-04T12:00:00Z");
    const key = await core.key();
    await quiet();
    const idle = core.clock.alarms;
    const holder = core.ask(key, 0);
    await quiet();
    assert(hasStarted(holder));
    const working = core.clock.alarms;
    const held = Array.from({ length: 1_000 }, () => core.ask(key, 120));
    const beyond = core.ask(key, 120);
    await quiet();
    assert.equal(core.core.admission.waiting, 1_000);
    assert.deepEqual(refusalOf(beyond), { scope: "org" });
    assert(held.every(({ outcome, left }) => outcome === undefined && left === undefined));
    for (const request of held) request.leave();
    await quiet();
    assert.equal(core.core.admission.waiting, 0);
    assert.equal(core.clock.alarms, working);
    for (const job of core.jobs.values()) job.end();
    await quiet();
    assert.equal(core.clock.alarms, idle);
  });
});
