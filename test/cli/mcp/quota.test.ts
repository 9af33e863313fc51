import assert from "node:assert/strict";
import {
  type Asked,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
} from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { agentAt } from "./heldServer.ts";

describe("the quota that an agent is told", () => {
  let clock: FakeClock;
  let org: Record<string, unknown>;
  let runs: Record<string, unknown>[];
  let refusal: "org" | "none";
  let service: LoopbackService;
  beforeEach(async () => {
    clock = new FakeClock();
    org = { ...orgOnWire };
    runs = [];
    refusal = "none";
    service = await LoopbackService.listen(({ method, path }: Asked, response) => {
      const dated = { date: new Date(clock.now()).toUTCString() };
      if (path === "/api/org") return sendJson(response, 200, org, dated);
      if (method === "GET") return sendJson(response, 200, { runs }, dated);
      if (refusal === "none") return sendError(response, 404, "not-found", "There is no such pipeline.");
      return sendJson(response, 429, { error: { type: "limit-reached", message: "-", scope: refusal } });
    });
  });
  afterEach(() => service[Symbol.asyncDispose]());

  const use = (runsToday: number) => {
    org = { ...org, usage: { "runs-today": runsToday } };
  };

  it("counts the runs of others since, also where a start fails", async () => {
    await using agent = await agentAt(service.client(clock), clock);
    assert.equal((await agent.call("get_quota")).value.quota?.["runs-today"], 7);
    use(9);
    const { isError, value } = await agent.call("start_run", { pipeline: "none" });
    assert.equal(isError, true);
    assert.equal(value.quota?.["runs-today"], 9);
  });

  it("stands beside what is wrong with a call's arguments, too", async () => {
    await using agent = await agentAt(service.client(clock), clock);
    for (const [args, problem] of [
      [{}, /^Invalid arguments for start_run: `pipeline` is missing/],
      [{ pipeline: "nightly", time: 1 }, /may not have `time`\. Correct/],
    ] as const) {
      const { isError, text, value } = await agent.call("start_run", args);
      assert.equal(isError, true);
      assert.match(text, problem);
      assert.equal(value.quota?.["runs-today"], 7);
    }
    assert.equal(
      service.asked.some(({ method }) => method === "POST"),
      false,
    );
  });

  it("is from memory where the refusal is, and the next day's after midnight", async () => {
    clock.set("2026-03-03T23:59:50Z");
    use(50);
    await using agent = await agentAt(service.client(clock), clock, { maxRuns: 0 });
    await agent.call("get_quota");
    const { length } = service.asked;
    const refused = async () => (await agent.call("start_run", { pipeline: "nightly" })).value;
    const before = await refused();
    assert.equal(before.refusal?.scope, "session");
    assert.equal(before.quota?.["runs-today"], 50);
    assert.equal(service.asked.length, length);
    use(0);
    clock.advance(10_000);
    assert.equal((await refused()).quota?.["runs-today"], 0);
  });

  for (const [what, limits, first] of [
    ["the least time left", { run_new: 600, run_mid: 30, run_old: 900 }, "run_mid"],
    ["begun first, where none has a limit", { run_new: undefined, run_old: undefined }, "run_old"],
  ] as const) {
    it(`names as the holder, of several, the run that has ${what}`, async () => {
      org = { ...org, limits: { "parallel-runs": Object.keys(limits).length, "runs-per-day": 50 } };
      runs = Object.entries(limits).map(([id, seconds]) =>
        runOnWire({ "run-id": id, "time-limit-seconds": seconds }),
      );
      refusal = "org";
      await using agent = await agentAt(service.client(clock), clock);
      const { value } = await agent.call("start_run", { pipeline: "nightly" });
      assert.equal(value.refusal?.holder?.["run-id"], first);
      assert.match(value.refusal.next, new RegExp(first));
      assert.equal(value.quota?.holders?.[0]?.["run-id"], first);
      assert.match(value.quota.next, new RegExp(first));
    });
  }
});
