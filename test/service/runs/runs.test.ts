import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { watchQueue } from "../../../src/client/follow/events.ts";
import type { Queue } from "../../../src/contract/org.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { putRuns } from "../../page/putRuns.ts";
import { fillDayOf } from "../fillDay.ts";
import { onBoth } from "../onBoth.ts";
import { serviceOn } from "../serviceOn.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
  writePidTo,
  writtenPid,
} from "../startedService.ts";

const never = new AbortController().signal;

onBoth("runs of the service", (store) => {
  it("runs a pipeline to its end, with its steps, and counts one", async () => {
    await using service = await serviceOn(store);
    const { client, keyId } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const run = await started(client, "hello");
    assert.equal(run.status, "running");
    assert.equal(run.actor, keyId);
    const end = await ended(client, run);
    assert.equal(end.status, "succeeded");
    assert.deepEqual(
      end.steps?.map(({ name, type, status }) => ({ name, type, status })),
      [{ name: "only", type: "cli", status: "succeeded" }],
    );
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("tells why a run failed", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("broken", programPipeline("console.log('about to fail'); process.exit(3)"));
    const end = await ended(client, await started(client, "broken"));
    assert.equal(end.status, "failed");
    assert.match(end.reason ?? "", /only/);
    assert.match(end.steps?.[0]?.message ?? "", /exit(ed)? (with )?(code )?3[\s\S]*about to fail/);
  });

  it("answers 201 with a Location, and 429 with scope org for a second run", async () => {
    await using service = await serviceOn(store);
    const { secret, client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const start = async () =>
      service.fetch("/api/runs", {
        method: "POST",
        headers: { "x-api-key": secret },
        body: await service.startBody("long"),
      });
    const first = await start();
    assert.equal(first.status, 201);
    const { "run-id": runId } = (await first.json()) as { "run-id": string };
    assert.equal(first.headers.get("location"), `/api/runs/${runId}`);
    const second = await start();
    assert.equal(second.status, 429);
    const { error } = (await second.json()) as { error: { type: string; scope: string } };
    assert.equal(error.type, "too-many-runs");
    assert.equal(error.scope, "org");
    assert.equal(second.headers.get("retry-after"), null);
    assert.equal(second.headers.get("cache-control"), "no-store");
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("takes no NUL character, which not every database can store", async () => {
    await using service = await serviceOn(store);
    const { secret } = await service.member();
    const headers = { "x-api-key": secret };
    const definition = { path: "pipelines/a.yaml", text: "steps: [] # \0" };
    for (const [path, body] of [
      ["/api/runs/%00", undefined],
      ["/api/runs/a%00b/log", undefined],
      ["/api/runs?project=%00", undefined],
      ["/api/pipelines?project=a%00", undefined],
      ["/app/runs?pipeline=%00", undefined],
      ["/api/runs", { pipeline: "a\0" }],
      ["/api/runs", { pipeline: "a", project: "\0" }],
      ["/api/runs", { pipeline: "a", project: "shop", definition }],
    ] as const) {
      const post = { method: "POST", body: JSON.stringify(body) };
      const reply = await service.fetch(path, { headers, ...(body === undefined ? {} : post) });
      assert.equal(reply.status, 400, `${path} ${JSON.stringify(body)}`);
      assert.match(await reply.text(), /NUL character|control characters/);
    }
  });

  it("tells each waiting start request its place, as it changes, and other requests none", async () => {
    await using service = await serviceOn(store);
    const { secret, client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const { runId } = await started(client, "long");
    const waits = new AbortController();
    const told = new Map<string, Queue[]>();
    const watch = (key: string, as = client) => {
      const queues: Queue[] = [];
      told.set(key, queues);
      void watchQueue(as, key, (queue) => queues.push(queue), waits.signal).catch(() => {});
    };
    const until = async (key: string, waiting: number, place?: number) => {
      const wanted = { waiting, ...(place === undefined ? {} : { place }) };
      while (!isDeepStrictEqual(told.get(key)?.at(-1), wanted)) await setImmediate();
    };
    const waiting: Promise<unknown>[] = [];
    for (const [index, key] of ["first", "second", "third"].entries()) {
      watch(key);
      waiting.push(
        service.fetch("/api/runs", {
          method: "POST",
          headers: { "x-api-key": secret, prefer: "wait=120", "idempotency-key": key },
          body: await service.startBody("long"),
          signal: waits.signal,
        }),
      );
      // Each in its turn.
      await until(key, index + 1, index + 1);
    }
    await until("first", 3, 1);
    watch("another");
    await until("another", 3);
    watch("elsewhere", service.client((await service.key("member", "elsewhere")).secret));
    await until("elsewhere", 0);
    await client.cancel(runId, never);
    await waiting[0];
    await until("third", 2, 2);
    await until("first", 2);
    waits.abort();
    await Promise.allSettled(waiting);
  });

  it("refuses the 51st run of a day with the seconds to 00:00 UTC on its own clock", async () => {
    const clock = new FakeClock("2026-03-04T22:46:39Z");
    await using service = await serviceOn(store, { clock });
    const { client, secret, orgId } = await service.member();
    await service.write("hello", programPipeline(""));
    await fillDayOf(service.db, 50, clock.now(), orgId);
    const reply = await service.fetch("/api/runs", {
      method: "POST",
      headers: { "x-api-key": secret, prefer: "wait=120" },
      body: await service.startBody("hello"),
    });
    assert.equal(reply.status, 429);
    assert.equal(reply.headers.get("retry-after"), "4401");
    assert.equal(reply.headers.get("date"), "Wed, 04 Mar 2026 22:46:39 GMT");
    const { error } = (await reply.json()) as { error: { scope: string; message: string } };
    assert.equal(error.scope, "free-day");
    assert.match(error.message, /free-day.*4401/);
    assert.equal((await client.org(never)).usage.runsToday, 50);
  });

  it("hands the slot to the one who waits, the moment the run before has ended", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline(""));
    const holder = await started(client, "long");
    const waiting = started(client, "hello", 120);
    await client.cancel(holder.runId, never);
    const next = await waiting;
    const before = await client.run(holder.runId, never);
    assert.equal(before.status, "cancelled");
    assert(Date.parse(next.createdAt ?? "") >= Date.parse(before.stoppedAt ?? ""));
    assert.equal((await ended(client, next)).status, "succeeded");
  });

  it("leaves the queue when its connection closes, which uses no run", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline(""));
    const holder = await started(client, "long");
    const leaving = new AbortController();
    const left = client.start(
      { pipeline: "hello" },
      { waitSeconds: 120, idempotencyKey: "left" },
      leaving.signal,
    );
    const stays = started(client, "long", 120);
    leaving.abort(new Error("left"));
    await assert.rejects(left, /left/);
    await client.cancel(holder.runId, never);
    const next = await stays;
    assert.equal(next.pipeline, "long");
    assert.equal((await client.org(never)).usage.runsToday, 2);
  });

  it("leaves the queue whose connection closes while the request is still being looked at", async () => {
    await using service = await serviceOn(store);
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const holder = await started(client, "long");
    for (let turns = 0; turns < 40; turns++) {
      const body = await service.startBody("long");
      const asked = request(`${service.url}/api/runs`, {
        method: "POST",
        headers: { "x-api-key": secret, prefer: "wait=120", "content-length": body.length },
      });
      asked.on("error", () => {});
      asked.end(body);
      await once(asked, "finish");
      // Closed a little later each time, so that it falls into every stage of the request.
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      asked.destroy();
    }
    await client.cancel(holder.runId, never);
    await ended(client, holder);
    assert.deepEqual((await client.runs({ active: true }, never)).runs, []);
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("keeps the slot until the run's processes are gone", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    const file = join(service.project.root, "pid");
    const stubborn = `process.on("SIGTERM", () => {}); ${writePidTo(file)} ${untilCancelled}`;
    await service.write("stubborn", programPipeline(stubborn));
    const run = await started(client, "stubborn");
    const pid = await writtenPid(file);
    assert.equal((await client.cancel(run.runId, never)).status, "cancelling");
    assert.equal((await client.cancel(run.runId, never)).status, "cancelling");
    const end = await ended(client, run);
    assert.equal(end.status, "cancelled");
    assert(!isAlive(pid));
    // Cancelling once more, after the end, is no error.
    assert.equal((await client.cancel(run.runId, never)).status, "cancelled");
  });

  it("takes a time limit of up to an hour from the request, and no more", async () => {
    await using service = await serviceOn(store);
    const { secret, client } = await service.member();
    await service.write("hello", programPipeline(""));
    const start = async (seconds: unknown) =>
      service.fetch("/api/runs", {
        method: "POST",
        headers: { "x-api-key": secret },
        body: await service.startBody("hello", { "time-limit-seconds": seconds }),
      });
    for (const wrong of [3601, 0, -1, 1.5, "60"]) {
      const reply = await start(wrong);
      assert.equal(reply.status, 400, String(wrong));
      assert.match(JSON.stringify(await reply.json()), /time-limit-seconds/);
    }
    const reply = await start(3600);
    assert.equal(reply.status, 201);
    const run = (await reply.json()) as { "run-id": string; "time-limit-seconds": number };
    assert.equal(run["time-limit-seconds"], 3600);
    await ended(client, { runId: run["run-id"] });
  });

  it("lists runs newest first, in pages, by status and by actor", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) {
      const run = await started(client, "hello");
      await ended(client, run);
      ids.unshift(run.runId);
    }
    const first = await client.runs({ limit: 2 }, never);
    assert.deepEqual(
      first.runs.map(({ runId }) => runId),
      ids.slice(0, 2),
    );
    const second = await client.runs({ limit: 2, after: first.next ?? "" }, never);
    assert.deepEqual(
      second.runs.map(({ runId }) => runId),
      ids.slice(2),
    );
    assert.equal(second.next, undefined);
    assert.deepEqual((await client.runs({ active: true }, never)).runs, []);
    assert.deepEqual((await client.runs({ status: "failed" }, never)).runs, []);
    const other = service.client((await service.key()).secret);
    assert.equal((await other.runs({}, never)).runs.length, 3);
    assert.equal((await other.runs({ mine: true }, never)).runs.length, 0);
  });

  it("lists the runs since a time and before one", async () => {
    await using service = await serviceOn(store);
    const { client, orgId, secret } = await service.member();
    const hour = (of: number) => Date.parse(`2026-03-04T0${of}:00:00Z`);
    await putRuns(
      service.db,
      orgId,
      [1, 2, 3, 4].map((at) => ({ pipeline: `at-${at}`, created_at: hour(at), stopped_at: hour(at) })),
    );
    const page = await client.runs({ since: hour(2), until: hour(4) }, never);
    assert.deepEqual(
      page.runs.map(({ pipeline }) => pipeline),
      ["at-3", "at-2"],
    );
    assert.equal((await client.runs({ since: -1, until: 8.64e15 }, never)).runs.length, 4);
    const bad = await service.fetch("/api/runs?since=yesterday", { headers: { "x-api-key": secret } });
    assert.equal(bad.status, 400);
    assert.match(await bad.text(), /`since`.*RFC 3339/);
  });

  it("lists the runs of one pipeline", async () => {
    await using service = await serviceOn(store);
    const { client } = await service.member();
    for (const name of ["hello", "other", "hello"]) {
      await service.write(name, programPipeline(""));
      await ended(client, await started(client, name));
    }
    const page = await client.runs({ pipeline: "hello", limit: 1 }, never);
    const rest = await client.runs({ pipeline: "hello", status: "succeeded", after: page.next ?? "" }, never);
    const names = [...page.runs, ...rest.runs].map(({ pipeline }) => pipeline);
    assert.deepEqual(names, ["hello", "hello"]);
    assert.equal(rest.next, undefined);
    assert.deepEqual((await client.runs({ pipeline: "hell" }, never)).runs, []);
  });
});

describe("runs of the embedded service", () => {
  it("says that a run which nobody holds is being cancelled, and ends it", async () => {
    await using service = await startedService();
    const { client, orgId, keyId } = await service.member();
    await service.write("hello", programPipeline(""));
    const run = await started(client, "hello");
    await ended(client, run);
    // As some fault would leave it: active, and without a holder.
    const [row] = await service.db.selectFrom("runs").selectAll().where("org_id", "=", orgId).execute();
    assert(row !== undefined);
    const leaked = {
      ...row,
      id: `${run.runId}x`,
      status: "running",
      stopped_at: null,
      idempotency_key: null,
    };
    await service.db.insertInto("runs").values(leaked).execute();
    assert.equal((await client.cancel(leaked.id, never)).status, "cancelling");
    const end = await ended(client, { runId: leaked.id });
    assert.equal(end.status, "lost");
    assert.equal(end.actor, keyId);
    assert.equal((await client.cancel(leaked.id, never)).status, "lost");
    assert.equal((await ended(client, await started(client, "hello"))).status, "succeeded");
  });

  itOn("linux", "asks a silent caller's machine whether it is still there", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const leaving = new AbortController();
    const holder = await started(client, "long");
    const wait = { waitSeconds: 120, idempotencyKey: "silent" };
    const held = client.start({ pipeline: "long" }, wait, leaving.signal);
    await client.org(never);
    const port = Number(new URL(service.url).port).toString(16).toUpperCase().padStart(4, "0");
    const timers = async () =>
      (await readFile("/proc/net/tcp", "utf8"))
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .filter(([, local, , state]) => local === `0100007F:${port}` && state === "01")
        .map(([, , , , , timer]) => timer ?? "");
    assert((await timers()).length > 0);
    // The kernel's timer of kind 2 is the one that keeps a connection alive; while something is on its way another runs.
    while (!(await timers()).every((timer) => timer.startsWith("02:")));
    leaving.abort(new Error("enough"));
    await assert.rejects(held);
    await client.cancel(holder.runId, never);
    await ended(client, holder);
  });

  it("stops a run at its time limit, and the first reason stays", async () => {
    const clock = new FakeClock("2026-03-04T12:00:00Z");
    await using service = await startedService({ clock });
    const { client } = await service.member();
    await service.write("long", programPipeline(untilCancelled, "5s"));
    const run = await started(client, "long");
    assert.equal(run.timeLimitSeconds, 5);
    clock.advance(5_000);
    await client.cancel(run.runId, never);
    const end = await ended(client, run);
    assert.equal(end.status, "timed-out");
    assert.match(end.reason ?? "", /time limit of 5 s/);
  });

  it("reads its lists from an index each, without sorting", async () => {
    await using service = await startedService();
    const { orgId } = await service.key();
    for (const filter of ["", "and pipeline = 'hello'", "and stopped_at is null"]) {
      const query = sql.raw(
        `explain query plan select * from runs where org_id = '${orgId}' ${filter} order by id desc`,
      );
      const { rows } = await query.execute(service.db);
      assert.doesNotMatch(JSON.stringify(rows), /SCAN|TEMP B-TREE/, filter);
    }
  });
});
