import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { utcDay } from "../../../src/contract/limits.ts";
import { touchRun } from "../../../src/service/store/runChanges.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { until } from "../../until.ts";
import { fillDayOf } from "../fillDay.ts";
import { onBoth } from "../onBoth.ts";
import { cutOff, openStream, type StreamEvent, unreadReply } from "../openStream.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  atRest,
  ended,
  programPipeline,
  type Service,
  started,
  startedService,
  untilCancelled,
} from "../startedService.ts";

const never = new AbortController().signal;

onBoth("the events of the service", (store) => {
  it("go on where a stream was left, and lose nothing that happened meanwhile", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline(""));
    const stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    const first = await started(client, "long");
    await stream.events.untilOne(({ data }) => data["status"] === "running");
    const id = lastId(stream.events.all);
    stream.leave();
    await client.cancel(first.runId, never);
    await ended(client, first);
    const second = await started(client, "hello");
    await ended(client, second);
    await using resumed = await openStream(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": id,
    });
    await resumed.events.untilOne(({ data }) => data["status"] === "succeeded");
    const { all } = resumed.events;
    assert.deepEqual([all[0]?.event, all[0]?.data["usage"]], ["org", { "runs-today": 2 }]);
    assert.deepEqual(
      all.filter(({ event }) => event === "run").map(({ data }) => data["status"]),
      ["cancelled", "succeeded"],
    );
  });

  it("go on when the service was started anew meanwhile", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    const run = await started(client, "long");
    await stream.events.untilOne(({ data }) => data["status"] === "running");
    const id = lastId(stream.events.all);
    stream.leave();
    await service.restart();
    // The embedded service has ended it; on many machines it goes on.
    await service.client(secret).cancel(run.runId, never);
    await using resumed = await openStream(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": id,
    });
    await resumed.events.untilOne(({ data }) => data["status"] === "cancelled");
    const { all } = resumed.events;
    const [org] = all;
    const end = ofStatus(all, "cancelled").at(-1);
    assert.equal(org?.event, "org");
    assert.equal(end?.data["run-id"], run.runId);
    assert.ok(Number(end?.id) > Number(id));
  });

  it("number every change, each later one higher", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await stream.events.atLeast(1);
    for (let count = 0; count < 3; count++) await ended(client, await started(client, "hello"));
    const orgs = await service.db.selectFrom("orgs").select(["name", "sequence"]).execute();
    const last = orgs.find(({ name }) => name === "acme")?.sequence;
    // What is read of a change may be newer than it, so a run's end may come more than once.
    await stream.events.untilOne(({ id }) => id === String(last));
    const ids = stream.events.all.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
    assert.deepEqual(
      ids,
      [...new Set(ids)].sort((one, other) => one - other),
    );
    assert.equal(ids.at(-1), last);
  });

  it("begin with the org and the active runs, and give an id only when all of that was sent", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(client, "long");
    await using first = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await first.events.untilOne(({ data }) => data["run-id"] === run.runId);
    for (const lastEventId of [undefined, "yesterday", "-1", "99999999", ""]) {
      await using stream = await openStream(`${service.url}/api/events`, {
        "x-api-key": secret,
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      });
      await stream.events.untilOne(({ event }) => event === "run");
      const [org] = stream.events.all;
      const inWork = stream.events.all.find(({ event }) => event === "run");
      assert.deepEqual([org?.event, org?.id], ["org", undefined]);
      assert.equal(inWork?.data["run-id"], run.runId);
      assert.match(inWork?.id ?? "", /^\d+$/);
    }
  });

  it("begin anew for a reader that has missed too much", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.member();
    const row = await manyRuns(service, orgId, 1001);
    const fresh = await openStream(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": "0",
    });
    const [org] = await fresh.events.atLeast(1);
    assert.deepEqual([org?.event, org?.id], ["org", "1001"]);
    fresh.leave();
    await using resumed = await openStream(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": "1",
    });
    await resumed.events.untilOne(({ id }) => id === "1001");
    const runsIn = (told: readonly StreamEvent[]) => told.filter(({ event }) => event === "run");
    assert.deepEqual(
      runsIn(resumed.events.all).map(({ id, data }) => [id, data["run-id"]]),
      Array.from({ length: 1000 }, (_, index) => [`${index + 2}`, row(index + 1)]),
    );
    assert.deepEqual(runsIn(fresh.events.all), []);
  });

  it("tell an org nothing of another's", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const other = await service.key("owner", "other");
    await service.write("hello", programPipeline(""));
    await using stream = await openStream(`${service.url}/api/events`, {
      "x-api-key": other.secret,
      "last-event-id": "0",
    });
    await ended(client, await started(client, "hello"));
    const otherClient = service.client(other.secret);
    await service.addProject(otherClient);
    const own = await started(otherClient, "hello");
    await stream.events.untilOne(({ event }) => event === "run");
    assert.deepEqual(
      [...new Set(stream.events.all.flatMap(({ data }) => data["run-id"] ?? []))],
      [own.runId],
    );
  });

  it("send a comment after 15 s of silence", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { secret } = await service.member();
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await stream.events.atLeast(1);
    for (let count = 1; count <= 3; count++) {
      await isSilent(clock);
      await service.turn(14_999);
      await turn();
      assert.equal(stream.comments.all.length, count - 1);
      await service.turn(1);
      await stream.comments.atLeast(count);
    }
  });

  it("tell after 15 s of silence what nobody has rung for", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    const run = await ended(client, await started(client, "hello"));
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await stream.events.atLeast(1);
    await isSilent(clock);
    // As when a server dies between a commit and its ring.
    await service.db.transaction().execute((tx) => touchRun(tx, run.runId));
    assert.ok(!stream.events.all.some(({ event }) => event === "run"));
    await service.turn(15_000);
    await stream.events.untilOne(({ data }) => data["run-id"] === run.runId);
    assert.equal(stream.events.all.at(-2)?.event, "org");
  });

  it("tell of a new day also when the clock is set to a later hour of another", async () => {
    const clock = new FakeClock("2026-03-04T09:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { orgId, secret } = await service.member();
    await fillDayOf(service.db, 3, clock.now(), orgId);
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    await stream.events.untilOne(usedToday(3));
    await service.set("2026-03-05T08:59:00Z");
    await service.turn(60_000);
    await stream.events.untilOne(usedToday(0));
    // And back again, as a clock that was wrong is set right.
    await service.set("2026-03-04T09:05:00Z");
    await service.turn(60_000);
    const { events } = stream;
    await events.until(() => events.all.slice(events.all.findIndex(usedToday(0))).some(usedToday(3)));
  });

  it("are cut off for a reader that takes nothing for a minute, who then goes on where it was", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await serviceOn(store, { clock });
    const { orgId, secret } = await service.member();
    const text = "x".repeat(100_000);
    await manyRuns(service, orgId, 200, text);
    const unread = await unreadReply(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": "0",
    });
    await cutOff(service, clock);
    // The service stopped making them when the line was full.
    const { bytes, isWhole } = await unread.rest();
    assert.ok(bytes < 15_000_000 && !isWhole, `${bytes} bytes`);
    await using resumed = await openStream(`${service.url}/api/events`, {
      "x-api-key": secret,
      "last-event-id": "190",
    });
    await resumed.events.untilOne(({ id }) => id === "200");
    assert.equal(resumed.events.all.find(({ event }) => event === "run")?.id, "191");
  });

  it("never tell of a run that was withdrawn before it began", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await using stream = await openStream(`${service.url}/api/events`, { "x-api-key": secret });
    const told = new Set<string>();
    for (let turns = 0; turns < 20; turns++) {
      const body = await service.startBody("long");
      const asked = request(`${service.url}/api/runs`, {
        method: "POST",
        headers: { "x-api-key": secret, "content-length": body.length },
      });
      asked.on("error", () => {});
      asked.end(body);
      await once(asked, "finish");
      for (let count = 0; count < turns; count++) await turn();
      asked.destroy();
    }
    const { runs } = await client.runs({ active: true }, never);
    // One that is listed may still be withdrawn.
    for (const run of runs)
      await client.cancel(run.runId, never).catch((error) => assert.equal(error.type, "not-found"));
    const last = await started(client, "long", 120);
    await stream.events.untilOne(({ data }) => data["run-id"] === last.runId);
    for (const { data } of stream.events.all)
      if (typeof data["run-id"] === "string") told.add(data["run-id"]);
    for (const runId of told) assert.equal((await client.run(runId, never)).runId, runId);
  });
});

describe("the events of the embedded service", () => {
  it("leave nothing behind when a reader leaves, or asks for the head alone", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { secret } = await service.member();
    await atRest(clock);
    const before = clock.alarms;
    const head = await service.fetch("/api/events", { method: "HEAD", headers: { "x-api-key": secret } });
    assert.equal(head.headers.get("content-type"), "text/event-stream");
    assert.equal(clock.alarms, before);
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => openStream(`${service.url}/api/events`, { "x-api-key": secret })),
    );
    for (const stream of streams) {
      await stream.events.atLeast(1);
      stream.leave();
    }
    while (clock.alarms > before) await turn();
  });
});

function usedToday(count: number): (event: StreamEvent) => boolean {
  return ({ event, data }) => event === "org" && JSON.stringify(data["usage"]) === `{"runs-today":${count}}`;
}

function ofStatus(events: readonly StreamEvent[], status: string): readonly StreamEvent[] {
  return events.filter(({ data }) => data["status"] === status);
}

function lastId(events: readonly StreamEvent[]): string {
  return events.findLast(({ id }) => id !== undefined)?.id ?? assert.fail("no event had an id");
}

/** Waits until the only reader waits for its next event, and the service for its next look at what nobody has rung for. */
async function isSilent(clock: FakeClock): Promise<void> {
  await until(async () => clock.alarmsIn(15_000) >= 2);
}

/** Puts runs that changed one after the other into the database. @returns the id of the n-th, from 0. */
async function manyRuns(
  service: Service,
  orgId: string,
  count: number,
  reason = "filled",
): Promise<(index: number) => string> {
  const id = (index: number) => `run_${String(index).padStart(6, "0")}`;
  const now = Date.parse("2026-03-01T12:00:00Z");
  const rows = Array.from({ length: count }, (_, index) => ({
    id: id(index),
    org_id: orgId,
    project: "shop",
    pipeline: "hello",
    actor: "key_filled",
    runner: "test",
    status: "failed",
    day: utcDay(now),
    created_at: now,
    stopped_at: now,
    time_limit_seconds: 30,
    reason,
    idempotency_key: null,
    changed: index + 1,
  }));
  for (let from = 0; from < count; from += 100) {
    await service.db
      .insertInto("runs")
      .values(rows.slice(from, from + 100))
      .execute();
  }
  await service.db.updateTable("orgs").set({ sequence: count }).where("id", "=", orgId).execute();
  return id;
}
