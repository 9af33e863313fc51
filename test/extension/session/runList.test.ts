import assert from "node:assert/strict";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { parseBaseUrl } from "../../../src/client/service/request.ts";
import type { Run } from "../../../src/contract/run.ts";
import { isActive } from "../../../src/contract/runStatus.ts";
import { RunList, type RunListState } from "../../../src/extension/session/runList.ts";
import type { OrgReading, SessionState } from "../../../src/extension/session/serviceConnection.ts";
import { Session } from "../../../src/extension/session/session.ts";
import { Emitter, ObservableValue } from "../../../src/extension/window/observable.ts";
import { type Clock, systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { programPipeline, started, startedService, untilCancelled } from "../../service/startedService.ts";

const never = new AbortController().signal;
const log = { info: () => {}, warn: () => {} };

/** The list once it is as wanted. */
function listed(
  list: RunList,
  accept: (state: Extract<RunListState, { kind: "listed" }>) => boolean = () => true,
): Promise<Extract<RunListState, { kind: "listed" }>> {
  return new Promise((resolve) => {
    const following = list.state.observe((state) => {
      if (state.kind !== "listed" || !accept(state)) return;
      resolve(state);
      queueMicrotask(() => following.dispose());
    });
  });
}

describe("the list of runs", () => {
  it("is live over the service's events, and asks for nothing while nobody wants it", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    const session = new Session({
      target: () => ({ kind: "remote", baseUrl: parseBaseUrl(service.url) }),
      keys: { keyFor: async () => ({ key: secret }) },
      embedded: () => Promise.reject(new Error("no embedded service is wanted here")),
      clock: systemClock,
      log,
    });
    const list = new RunList({ session, log });
    try {
      session.watch();
      await new Promise<void>((resolve) => session.state.observe(({ kind }) => kind === "live" && resolve()));
      assert.deepEqual(list.state.value, { kind: "unknown" });
      const wanted = list.retain();
      assert.deepEqual((await listed(list)).runs, []);
      const run = await started(client, "long");
      const busy = await listed(list, ({ runs }) => runs.length === 1);
      assert.equal(busy.runs[0]?.runId, run.runId);
      assert.equal(busy.runs[0]?.actor, busy.me);
      await client.cancel(run.runId, never);
      await listed(list, ({ runs: [only] }) => only !== undefined && !isActive(only));
      wanted.dispose();
      // Events keep it true, without a question, for the next who wants it.
      assert.equal(list.state.value.kind, "listed");
      session.stop();
      assert.deepEqual(list.state.value, { kind: "unknown" });
      session.watch();
      await new Promise<void>((resolve) => session.state.observe(({ kind }) => kind === "live" && resolve()));
      assert.deepEqual(list.state.value, { kind: "unknown" });
    } finally {
      list.dispose();
      session.dispose();
    }
  });

  it("reads older pages when asked, and keeps what it knows better", async () => {
    await using service = await LoopbackService.listen((asked, response) => {
      const older = asked.path.includes("after=");
      const id = older ? "run_1" : "run_2";
      const second = older ? "01" : "02";
      const run = runOnWire({ "run-id": id, "created-at": `2026-03-03T10:00:${second}Z` });
      sendJson(response, 200, { runs: [run], ...(older ? {} : { next: "cursor" }) });
    });
    const { list, tell } = listOf(service);
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    assert.equal((await listed(list)).hasMore, true);
    const [newest] = (await listed(list)).runs;
    assert(newest !== undefined);
    tell({ ...newest, status: "failed" });
    await list.loadMore(never);
    const { runs, hasMore } = await listed(list, (state) => state.runs.length === 2);
    assert.deepEqual(
      runs.map(({ runId, status }) => [runId, status]),
      [
        ["run_2", "failed"],
        ["run_1", "running"],
      ],
    );
    assert.equal(hasMore, false);
    await list.loadMore(never);
    assert.equal(service.asked.filter(({ path }) => path.startsWith("/api/runs")).length, 2);
  });

  it("says so where a service lists no runs", async () => {
    await using service = await LoopbackService.listen((_, response) => {
      response.writeHead(404).end("none");
    });
    const { list } = listOf(service);
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    await new Promise<void>((resolve) => {
      list.state.observe(({ kind }) => kind === "not-listed" && resolve());
    });
  });

  it("reads a run's steps when asked, and keeps them through news that lacks them", async () => {
    const steps = [{ name: "one", type: "cli", status: "running" }];
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/runs/run_1") sendJson(response, 200, runOnWire({ steps }));
      else sendJson(response, 200, { runs: [runOnWire()] });
    });
    const { list, tell } = listOf(service);
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    const [before] = (await listed(list)).runs;
    assert(before !== undefined && before.steps === undefined);
    await list.readSteps("run_1", never);
    assert.deepEqual(list.find("run_1")?.steps, steps);
    tell({ ...before, runner: "other" });
    assert.deepEqual(list.find("run_1")?.steps, steps);
    tell({ ...before, status: "failed", stoppedAt: "2026-03-03T10:00:09Z" });
    assert.equal(list.find("run_1")?.steps, undefined);
  });

  it("is read again with each answer of a service without events, but only while somebody wants it", async () => {
    let status = "running";
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path.startsWith("/api/org")) sendJson(response, 200, orgOnWire);
      else if (path === "/api/runs/run_0") sendJson(response, 200, runOnWire({ "run-id": "run_0", status }));
      else {
        const fresh = runOnWire({ status });
        const old = runOnWire({ "run-id": "run_0", "created-at": "2026-03-03T09:00:00Z" });
        sendJson(response, 200, { runs: status === "running" ? [fresh, old] : [fresh] });
      }
    });
    const { list, ask } = listOf(service, "polled");
    using _list = { [Symbol.dispose]: () => list.dispose() };
    const wanted = list.retain();
    await listed(list);
    const [kept] = (await listed(list)).runs;
    status = "failed";
    ask();
    const both = await listed(list, ({ runs }) => runs.every((run) => run.status === "failed"));
    assert.deepEqual(
      both.runs.map(({ runId }) => runId),
      ["run_1", "run_0"],
    );
    assert.notEqual(both.runs[0], kept);
    wanted.dispose();
    assert.deepEqual(list.state.value, { kind: "unknown" });
    const asked = service.asked.length;
    ask();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(service.asked.length, asked);
  });

  it("leaves out no run when more have come than one page has", async () => {
    let count = 3;
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path.startsWith("/api/org")) return sendJson(response, 200, orgOnWire);
      const newest = Number(/after=(\d+)/.exec(path)?.[1] ?? count);
      const ids = [newest, newest - 1, newest - 2].filter((id) => id > 0);
      const runs = ids.map((id) =>
        runOnWire({ "run-id": `run_${id}`, status: "failed", "created-at": `2026-03-03T10:00:0${id}Z` }),
      );
      return sendJson(response, 200, { runs, ...(newest > 3 ? { next: String(newest - 3) } : {}) });
    });
    const { list } = listOf(service);
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    assert.equal((await listed(list)).hasMore, false);
    count = 9;
    await list.refresh(never);
    while ((await listed(list)).hasMore) await list.loadMore(never);
    assert.deepEqual(
      (await listed(list)).runs.map(({ runId }) => runId),
      [9, 8, 7, 6, 5, 4, 3, 2, 1].map((id) => `run_${id}`),
    );
  });

  it("tells how far the service's clock is ahead, by its own word", async () => {
    await using service = await LoopbackService.listen((_, response) =>
      sendJson(response, 200, { runs: [] }),
    );
    const { list } = listOf(service, "live", systemClock, { how: "asked", at: 1_000, servedAt: 7_201_000 });
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.retain();
    const { clockAhead } = await listed(list);
    assert.equal(clockAhead, 7_200_000);
    assert.equal(service.asked.length, 1);
  });

  it("says that it could not be read, tries again by itself with pauses that grow, and at once for a person who asks", async () => {
    let isBroken = true;
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path.startsWith("/api/org")) sendJson(response, 200, orgOnWire);
      else if (isBroken) sendJson(response, 200, {});
      else sendJson(response, 200, { runs: [runOnWire()] });
    });
    const pauses: number[] = [];
    const requestTimeout = 10_000;
    const pausing = (pause: Clock["sleep"]): Clock => ({
      ...systemClock,
      sleep: (ms, signal) => (ms === requestTimeout ? systemClock.sleep(ms, signal) : pause(ms, signal)),
    });
    const quick = listOf(
      service,
      "live",
      pausing(async (ms) => {
        assert.deepEqual(quick.list.state.value, { kind: "failed" });
        pauses.push(ms);
        isBroken = pauses.length < 4;
      }),
    );
    using _quick = { [Symbol.dispose]: () => quick.list.dispose() };
    quick.list.retain();
    await listed(quick.list);
    assert.equal(service.asked.filter(({ path }) => path.startsWith("/api/runs")).length, 5);
    assert.deepEqual(
      pauses.toSorted((one, other) => one - other),
      pauses,
    );
    assert.equal(pauses.length, 4);

    isBroken = true;
    const slept = Promise.withResolvers<void>();
    const slow = listOf(
      service,
      "live",
      pausing((_, signal) => {
        slept.resolve();
        return systemClock.sleep(600_000, signal);
      }),
    );
    using _slow = { [Symbol.dispose]: () => slow.list.dispose() };
    slow.list.retain();
    await slept.promise;
    isBroken = false;
    await slow.list.refresh(never);
    assert.equal((await listed(slow.list)).runs.length, 1);
  });

  function listOf(
    service: LoopbackService,
    kind: "polled" | "live" = "live",
    clock: Clock = systemClock,
    read?: OrgReading,
  ) {
    const currentClient = new ServiceClient({
      baseUrl: parseBaseUrl(service.origin),
      apiKey: "plk_key",
      clock,
    });
    const org = {
      orgId: orgOnWire["org-id"],
      orgName: orgOnWire["org-name"],
      tier: "free",
      limits: { parallelRuns: 1, runsPerDay: 50 },
      usage: { runsToday: 7 },
      actor: orgOnWire.actor,
    };
    const activeRuns = kind === "live" ? [] : undefined;
    const state = new ObservableValue<SessionState>({ kind: "live", org, activeRuns });
    const reading = new ObservableValue(read);
    const runChanged = new Emitter<Run>();
    return {
      list: new RunList({ session: { state, reading, runChanged, currentClient }, log }),
      /** The session has asked for the org once more. */
      ask: () => state.set({ kind: "live", org: { ...org }, activeRuns }),
      tell: (run: Parameters<typeof runChanged.emit>[0]) => runChanged.emit(run),
    };
  }
});
