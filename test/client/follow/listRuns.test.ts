import assert from "node:assert/strict";
import { followRuns } from "../../../src/cli/runs/watchRuns.ts";
import { listRuns, type WantedRuns } from "../../../src/client/follow/listRuns.ts";
import type { Run } from "../../../src/contract/run.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { EventService, LoopbackService, orgOnWire, runOnWire, sendJson } from "../loopbackService.ts";
import { Told } from "../told.ts";

const never = new AbortController().signal;
const wanted = (others: Partial<WantedRuns>): WantedRuns => ({
  statuses: [],
  limit: 20,
  ...others,
});
const ids = (runs: readonly Run[]) => runs.map(({ runId }) => runId);

/** A service of many runs, newest first, whose pipelines are `a` and `b` in turn; it knows no filter. */
async function unfilteredService(count: number, pipelines: Readonly<Record<string, string>> = {}) {
  const runs = Array.from({ length: count }, (_, index) => {
    const runId = `run_${String(count - index).padStart(4, "0")}`;
    return runOnWire({
      "run-id": runId,
      pipeline: pipelines[runId] ?? (index % 2 === 0 ? "a" : "b"),
      ...(index === 0 ? {} : { status: index % 3 === 0 ? "failed" : "succeeded" }),
      ...(index === 0 ? {} : { "stopped-at": "2026-03-03T10:00:09Z" }),
    });
  });
  return LoopbackService.listen(({ path }, response) => {
    const query = new URL(path, "http://x").searchParams;
    const from = Number(query.get("after") ?? 0);
    const to = from + Number(query.get("limit"));
    sendJson(response, 200, { runs: runs.slice(from, to), ...(to < count ? { next: String(to) } : {}) });
  });
}

describe("listing runs", () => {
  it("ends at the first that is too old, without a cursor to others", async () => {
    const asked: string[] = [];
    const runs = Array.from({ length: 300 }, (_, index) =>
      runOnWire({
        "run-id": `run_${String(300 - index).padStart(3, "0")}`,
        "created-at": new Date(Date.parse("2026-03-04T12:00:00Z") - index * 60_000).toISOString(),
      }),
    );
    await using service = await LoopbackService.listen(({ path }, response) => {
      asked.push(path);
      const query = new URL(path, "http://x").searchParams;
      const from = Number(query.get("after") ?? 0);
      const to = from + Number(query.get("limit"));
      sendJson(response, 200, { runs: runs.slice(from, to), next: String(to) });
    });
    const client = service.client(new FakeClock());
    const since = Date.parse("2026-03-04T10:00:00Z");
    const list = await listRuns(client, wanted({ limit: 1000, since }), never);
    assert.equal(list.runs.length, 121);
    assert.equal(list.runs.at(-1)?.createdAt, "2026-03-04T10:00:00.000Z");
    assert.equal(list.next, undefined);
    assert.equal(asked.length, 2);
  });

  it("begins before a time, at a service that filters by it and at one that doesn't", async () => {
    for (const isFiltering of [true, false]) {
      const runs = Array.from({ length: 300 }, (_, index) =>
        runOnWire({
          "run-id": `run_${String(300 - index).padStart(3, "0")}`,
          "created-at": new Date(Date.parse("2026-03-04T12:00:00Z") - index * 60_000).toISOString(),
        }),
      );
      await using service = await LoopbackService.listen(({ path }, response) => {
        const query = new URL(path, "http://x").searchParams;
        const [since = "", until = "9"] = isFiltering
          ? [query.get("since") ?? "", query.get("until") ?? "9"]
          : [];
        const asked = runs.filter((run) => {
          const at = String(run["created-at"]);
          return at >= since && at < until;
        });
        const from = Number(query.get("after") ?? 0);
        const to = from + Number(query.get("limit"));
        const next = to < asked.length ? { next: String(to) } : {};
        sendJson(response, 200, { runs: asked.slice(from, to), ...next });
      });
      const client = service.client(new FakeClock());
      const [since, until] = [Date.parse("2026-03-04T09:00:00Z"), Date.parse("2026-03-04T10:00:00Z")];
      const list = await listRuns(client, wanted({ limit: 1000, since, until }), never);
      assert.equal(list.runs.length, 60);
      assert.equal(list.runs[0]?.createdAt, "2026-03-04T09:59:00.000Z");
      assert.equal(list.runs.at(-1)?.createdAt, "2026-03-04T09:00:00.000Z");
      assert.deepEqual([list.next, list.lookedThrough], [undefined, undefined]);
      assert.equal(service.asked.length, isFiltering ? 1 : 2);
    }
  });

  it("goes through as many pages as are wanted", async () => {
    await using service = await unfilteredService(450);
    const list = await listRuns(service.client(new FakeClock()), wanted({ limit: 250 }), never);
    assert.equal(list.runs.length, 250);
    assert.equal(list.next, "250");
    assert.equal(service.asked.length, 3);
    const rest = await listRuns(
      service.client(new FakeClock()),
      wanted({ limit: 1000, after: "250" }),
      never,
    );
    assert.equal(rest.runs.length, 200);
    assert.equal(rest.next, undefined);
  });

  it("filters by itself what a service doesn't", async () => {
    await using service = await unfilteredService(30);
    const client = service.client(new FakeClock());
    const ofA = await listRuns(client, wanted({ pipeline: "a", limit: 10 }), never);
    assert.equal(ofA.runs.length, 10);
    assert.ok(ofA.runs.every(({ pipeline }) => pipeline === "a"));
    assert.match(service.asked[0]?.path ?? "", /pipeline=a/);
    assert.equal(ofA.next, "19", "the next of them is not left out");
    const rest = await listRuns(client, wanted({ pipeline: "a", limit: 10, after: "19" }), never);
    assert.deepEqual([rest.runs.length, rest.next], [5, undefined]);
    const inWork = await listRuns(client, wanted({ statuses: ["in-work"] }), never);
    assert.deepEqual(ids(inWork.runs), ["run_0030"]);
    const both = await listRuns(client, wanted({ statuses: ["in-work", "failed"], limit: 3 }), never);
    assert.deepEqual(ids(both.runs), ["run_0030", "run_0027", "run_0024"]);
  });

  it("looks far for a few among many that aren't wanted, and tells where it stops", async () => {
    await using service = await unfilteredService(6000, { run_5950: "nightly", run_0002: "monthly" });
    const client = service.client(new FakeClock());
    const nightly = await listRuns(client, wanted({ pipeline: "nightly", limit: 1 }), never);
    assert.deepEqual(ids(nightly.runs), ["run_5950"]);
    assert.equal(service.asked.length, 2);
    assert.equal(nightly.lookedThrough, undefined);
    const monthly = await listRuns(client, wanted({ pipeline: "monthly", limit: 1 }), never);
    assert.deepEqual(monthly, { runs: [], next: "4901", lookedThrough: 4901 });
    const beyond = await listRuns(client, wanted({ pipeline: "monthly", after: monthly.next }), never);
    assert.deepEqual(ids(beyond.runs), ["run_0002"]);
    const several = wanted({ pipeline: "monthly", limit: 1, statuses: ["failed", "succeeded"] });
    assert.deepEqual(await listRuns(client, several, never), { runs: [], lookedThrough: 4901 });
  });
});

describe("watching runs", () => {
  it("tells what changed while the connection was broken, and who is gone", async () => {
    const clock = new FakeClock();
    let runs = [runOnWire({ "run-id": "run_1" })];
    await using events = await EventService.listen(({ path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs });
      sendJson(response, 200, runOnWire({ status: "failed", "stopped-at": "2026-03-03T10:00:09Z" }));
    });
    const told = new Told<string[]>();
    const gone = new Told<Run>();
    const broken = new Told<unknown>();
    const stop = new AbortController();
    const client = events.service.client(clock);
    const watched = followRuns(
      client,
      wanted({ statuses: ["in-work"] }),
      {
        reconnect: async () => client,
        onRuns: (each) => told.tell(ids(each)),
        onGone: gone.tell,
        onBroken: broken.tell,
      },
      stop.signal,
    );
    // The first list, and the one that is read once the stream is open.
    await told.atLeast(2);
    events.send("run", runOnWire({ "run-id": "run_2" }));
    assert.deepEqual((await told.atLeast(3)).at(-1), ["run_2", "run_1"]);
    runs = [runOnWire({ "run-id": "run_2" })];
    events.streams[0]?.destroy();
    await broken.atLeast(1);
    clock.advanceToNext();
    assert.deepEqual((await told.atLeast(4)).at(-1), ["run_2"]);
    assert.equal(gone.all[0]?.status, "failed");
    stop.abort(new Error("enough"));
    await assert.rejects(watched, /enough/);
    assert.equal(clock.alarms, 0);
  });

  it("says when the service has no events", async () => {
    const clock = new FakeClock();
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (path.startsWith("/api/runs")) return sendJson(response, 200, { runs: [] });
      return void response.writeHead(404).end();
    });
    const deps = {
      reconnect: () => Promise.reject(new Error("asked")),
      onRuns() {},
      onGone() {},
      onBroken() {},
    };
    const watched = followRuns(service.client(clock), wanted({}), deps, never);
    await assert.rejects(watched, { type: "not-supported", message: /doesn't tell when runs change/ });
  });
});
