import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createHttpServer } from "../../../src/service/http/httpServer.ts";
import { OrgEvents } from "../../../src/service/http/orgEvents.ts";
import { lastChange } from "../../../src/service/store/runChanges.ts";
import { putSteps } from "../../../src/service/store/runs.ts";
import { bareApp } from "../bareApp.ts";
import { openStream } from "../openStream.ts";
import { errorTypeOf } from "../rawExchange.ts";
import { startedCore } from "../startedCore.ts";

const noon = "2026-03-04T12:00:00Z";
const largest = 100_000;
const runs = 300;
const readers = 4;

type StartedCore = Awaited<ReturnType<typeof startedCore>>;

/** A run that has ended, whose event is as large as one can be. */
async function putRun({ db }: StartedCore, key: { orgId: string; keyId: string }, changed: number) {
  const now = Date.parse(noon);
  await db
    .insertInto("runs")
    .values({
      id: `run_${String(changed).padStart(5, "0")}`,
      ...{ org_id: key.orgId, project: "shop", pipeline: "hello", actor: key.keyId, runner: "test" },
      ...{ status: "failed", day: noon.slice(0, 10), created_at: now, stopped_at: now },
      ...{ time_limit_seconds: 30, reason: "x".repeat(largest), idempotency_key: null, changed },
    })
    .execute();
  await db.updateTable("orgs").set({ sequence: changed }).where("id", "=", key.orgId).execute();
}

async function serving(started: StartedCore) {
  const deps = bareApp(started);
  const server = createHttpServer(deps);
  const streams: ServerResponse[] = [];
  server.on("request", (_, outgoing: ServerResponse) => streams.push(outgoing));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    replies: deps.replies,
    /** The replies so far, in the order in which they were asked for. */
    streams,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

describe("readers of events that don't read", () => {
  it("make the service hold no more than one event each, and are cut off after a minute", async () => {
    await using started = await startedCore(noon);
    const key = await started.key();
    for (let count = 1; count <= runs; count++) await putRun(started, key, count);
    await using service = await serving(started);
    const { port, streams } = service;
    const headers = { "x-api-key": key.secret, "last-event-id": "0" };
    const asked = Array.from({ length: readers }, () =>
      request({ host: "127.0.0.1", port, path: "/api/events", headers }).end(),
    );
    await Promise.all(asked.map((one) => once(one, "response")));
    // Until every line is full: what is held then is all that ever will be.
    const isFull = () => streams.every(({ writableNeedDrain }) => writableNeedDrain);
    for (let still = 0; still < 20; still = isFull() ? still + 1 : 0) await pause(10);
    for (const { writableLength } of streams) {
      assert(writableLength < 2 * largest, `${writableLength} bytes are held`);
    }
    const closed = Promise.all(streams.map((stream) => once(stream, "close")));
    for (const one of asked) one.on("error", () => {});
    started.clock.advance(60_000);
    await closed;
    assert.equal(started.core.bus.subscribers, 0);
  });

  it("have nothing wait for them, and who reads is told all the same", async () => {
    await using started = await startedCore(noon);
    const key = await started.key();
    await using service = await serving(started);
    const asked = `GET /api/events HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key.secret}\r\n\r\n`;
    const deaf = connect(service.port, "127.0.0.1");
    deaf.on("error", () => {}).write(asked);
    await once(deaf, "readable");
    const [reply] = service.streams;
    assert(reply !== undefined);
    await using reader = await openStream(`${service.url}/api/events`, { "x-api-key": key.secret });
    await reader.events.untilOne(({ event }) => event === "org");
    for (let last = 1; last <= runs; last++) {
      await putRun(started, key, last);
      started.core.bus.emit(key.orgId, { kind: "run", runId: "" });
      await reader.events.untilOne(({ id }) => id === String(last));
      assert(reply.writableLength < 2 * largest, `${reply.writableLength} bytes are held`);
    }
    assert(reply.writableNeedDrain);
    deaf.destroy();
    const ids = (await reader.events.atLeast(0)).flatMap(({ event, id }) =>
      event === "run" ? [Number(id)] : [],
    );
    assert.deepEqual(
      ids,
      Array.from({ length: runs }, (_, index) => index + 1),
    );
  });

  it("are a hundred for a key: one more is refused, until one leaves", async () => {
    await using started = await startedCore(noon);
    const [key, other] = [await started.key(), await started.key()];
    const asked = started.ask(key, 0);
    await using service = await serving(started);
    const follow = async (path: string, { secret } = key) => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const reply = await fetch(`${service.url}${path}`, { headers: { "x-api-key": secret }, signal });
      return { reply, leave: () => leaving.abort() };
    };
    const open = [await follow("/api/events")];
    open.push(...(await Promise.all(Array.from({ length: 98 }, () => follow("/api/events")))));
    assert(asked.outcome?.kind === "started");
    const log = `/api/runs/${asked.outcome.run.runId}/log`;
    open.push(await follow(log));
    for (const { reply } of open) assert.equal(reply.status, 200);
    for (const path of ["/api/events", log]) {
      const { reply } = await follow(path);
      assert.equal(reply.status, 409);
      const body = JSON.parse(await reply.text());
      assert.equal(errorTypeOf(body), "conflict");
      assert.match(body.error.message, /follows 100 events and logs already/);
      assert.match(body.error.next, /^Close some/);
    }
    open.push(await follow("/api/events", other));
    assert.equal(open.at(-1)?.reply.status, 200);
    const closed = once(service.streams[0] ?? assert.fail(), "close");
    open[0]?.leave();
    await closed;
    open.push(await follow("/api/events"));
    assert.equal(open.at(-1)?.reply.status, 200);
    for (const { leave } of open) leave();
  });
});

describe("an event of an org", () => {
  it("is made once, however many read it", async () => {
    await using started = await startedCore(noon);
    const key = await started.key();
    const { bus, admission } = started.core;
    let made = 0;
    const db = started.core.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.some((row) => "actor_name" in row)) made += 1;
        return result;
      },
    });
    const events = new OrgEvents({ db, bus, clock: started.clock, log: () => {}, admission });
    let rings = 0;
    const all = Array.from({ length: 50 }, () => ({ sent: 0, hear: () => void rings++ }));
    const feeds = all.map((reader) => events.join(key.orgId, reader));
    await putRun(started, key, 1);
    bus.emit(key.orgId, { kind: "run", runId: "" });
    assert.equal(rings, 50);
    const read = await Promise.all(feeds.map((feed) => feed.runsAfter(0)));
    const texts = new Set(read.flat().map(({ text }) => text));
    for (const reader of all) events.leave(key.orgId, reader);
    assert.deepEqual([made, texts.size], [1, 1]);
    assert.match([...texts][0] ?? "", /^id: 1\nevent: run\n/);
    assert.equal(bus.subscribers, 0);
  });

  it("has its org and its queue read once, whichever keys read them", async () => {
    await using started = await startedCore(noon);
    const { orgId } = await started.key();
    const { bus, admission } = started.core;
    let asked = 0;
    const db = started.core.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.some((row) => "runs_today" in row)) asked += 1;
        return result;
      },
    });
    const queue: typeof admission.queue = (id) => {
      asked += 1;
      return admission.queue(id);
    };
    const deps = { db, bus, clock: started.clock, log: () => {} };
    const events = new OrgEvents({ ...deps, admission: { queue } });
    const readers = Array.from({ length: 50 }, () => ({ sent: 0, hear: () => {} }));
    const feeds = readers.map((reader) => events.join(orgId, reader));
    for (const change of [1, 2]) {
      bus.emit(orgId, { kind: "org" });
      const texts = await Promise.all(feeds.map((feed, at) => feed.org(`key_${at}`)));
      await Promise.all(feeds.map((feed) => feed.queue()));
      assert.equal(asked, 2 * change);
      assert.deepEqual([texts[7]?.includes('"actor":"key_7"'), new Set(texts).size], [true, 50]);
    }
    for (const reader of readers) events.leave(orgId, reader);
  });

  it("holds all steps of its run, so of an active run with many one comes each 200 ms", async () => {
    await using started = await startedCore(noon);
    const key = await started.key();
    const { clock } = started;
    const { db, bus, writer } = started.core;
    const events = new OrgEvents({ ...started.core, clock, log: () => {} });
    let rings = 0;
    const reader = { sent: 0, hear: () => void rings++ };
    const feed = events.join(key.orgId, reader);
    await putRun(started, key, 0);
    await db.updateTable("runs").set({ status: "running", stopped_at: null }).execute();
    const runId = "run_00000";
    let told = 0;
    for (let position = 0; position < 20; position++) {
      const step = { name: `step ${position}`, type: "cli", status: "succeeded" } as const;
      await writer.write((tx) => putSteps(tx, runId, new Map([[position, step]])));
      bus.emit(key.orgId, { kind: "run", runId });
      for (const { changed } of await feed.runsAfter(reader.sent)) [reader.sent, told] = [changed, told + 1];
    }
    const last = await lastChange(db, key.orgId);
    assert.deepEqual([told, last], [1, 20]);
    rings = 0;
    clock.advance(200);
    assert.equal(rings, 1);
    const [end] = await feed.runsAfter(reader.sent);
    assert.equal(end?.changed, last);
    // Who waits for the end of a run need not wait for this too.
    assert.deepEqual(await feed.runsAfter(0), []);
    bus.emit(key.orgId, { kind: "org" });
    assert.equal((await feed.runsAfter(0)).length, 1);
    events.leave(key.orgId, reader);
  });
});
