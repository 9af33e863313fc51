import assert from "node:assert/strict";
import { systemClock } from "../../src/client/clock.ts";
import { parseBaseUrl } from "../../src/client/http/baseUrl.ts";
import { ServiceClient } from "../../src/client/http/serviceClient.ts";
import { isInWork, type Run } from "../../src/contract/run.ts";
import { News } from "../../src/extension/news.ts";
import { Observed } from "../../src/extension/observed.ts";
import { RunList, type RunListState } from "../../src/extension/runList.ts";
import { Session, type SessionState } from "../../src/extension/session.ts";
import { LoopbackService, orgOnWire, runOnWire, sendJson } from "../client/loopbackService.ts";
import { programPipeline, started, startedService, untilCancelled } from "../service/startedService.ts";

const never = new AbortController().signal;
const log = { info: () => {}, warn: () => {} };

/** The list once it is as wanted. */
function listed(
  list: RunList,
  accept: (state: Extract<RunListState, { kind: "listed" }>) => boolean = () => true,
): Promise<Extract<RunListState, { kind: "listed" }>> {
  return new Promise((resolve) => {
    const following = list.state.follow((state) => {
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
      keys: { get: async () => secret },
      embedded: () => Promise.reject(new Error("no embedded service is wanted here")),
      clock: systemClock,
      log,
    });
    const list = new RunList({ session, log });
    try {
      session.watch();
      await new Promise<void>((resolve) => session.state.follow(({ kind }) => kind === "live" && resolve()));
      assert.deepEqual(list.state.value, { kind: "unknown" });
      const wanted = list.want();
      assert.deepEqual((await listed(list)).runs, []);
      const run = await started(client, "long");
      const busy = await listed(list, ({ runs }) => runs.length === 1);
      assert.equal(busy.runs[0]?.runId, run.runId);
      assert.equal(busy.runs[0]?.actor, busy.me);
      await client.cancel(run.runId, never);
      await listed(list, ({ runs: [only] }) => only !== undefined && !isInWork(only));
      wanted.dispose();
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
    list.want();
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
    assert.equal(service.asked.length, 2);
  });

  it("says so where a service lists no runs", async () => {
    await using service = await LoopbackService.listen((_, response) => {
      response.writeHead(404).end("none");
    });
    const { list } = listOf(service);
    using _list = { [Symbol.dispose]: () => list.dispose() };
    list.want();
    await new Promise<void>((resolve) => {
      list.state.follow(({ kind }) => kind === "not-listed" && resolve());
    });
  });

  function listOf(service: LoopbackService) {
    const followed = new ServiceClient({ baseUrl: parseBaseUrl(service.origin), apiKey: "plk_key" });
    const org = {
      orgId: orgOnWire["org-id"],
      orgName: orgOnWire["org-name"],
      tier: "free",
      limits: { parallelRuns: 1, runsPerDay: 50 },
      usage: { runsToday: 7 },
      actor: orgOnWire.actor,
    };
    const state = new Observed<SessionState>({ kind: "live", org, inWork: [] });
    const runTold = new News<Run>();
    return {
      list: new RunList({ session: { state, runTold, followed }, log }),
      tell: (run: Parameters<typeof runTold.tell>[0]) => runTold.tell(run),
    };
  }
});
