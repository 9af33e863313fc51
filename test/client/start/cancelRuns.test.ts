import assert from "node:assert/strict";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { OutOfReach } from "../../../src/client/service/reachFaults.ts";
import { AbsentEndpoint } from "../../../src/client/service/replyErrors.ts";
import {
  type CancelOutcome,
  cancelEach,
  cancelWithRetries,
  myActiveRuns,
} from "../../../src/client/start/cancelRuns.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { CountedFetch, drive } from "../drive.ts";
import {
  type Answer,
  type Asked,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendError,
  sendJson,
} from "../loopbackService.ts";

const clock = new FakeClock();
const never = new AbortController().signal;

/** What `--mine` comes to. */
async function cancelMine(client: ServiceClient, signal: AbortSignal): Promise<CancelOutcome[]> {
  const { mine } = await myActiveRuns(client, signal);
  return cancelEach(
    client,
    mine.map(({ runId }) => runId),
    signal,
  );
}

/** A service that tells its org, and whatever else is asked by `answer`. */
function serviceOf(answer: Answer): Promise<LoopbackService> {
  return LoopbackService.listen((asked, response, gone) =>
    asked.path === "/api/org" ? sendJson(response, 200, orgOnWire) : answer(asked, response, gone),
  );
}

function idToCancel({ method, path }: Asked): string | undefined {
  return method === "POST" ? /^\/api\/runs\/(.*)\/cancel$/.exec(path)?.[1] : undefined;
}

describe("cancelling the runs of one's own key", () => {
  it("cancels each active run, of every page, once", async () => {
    const pages: Record<string, unknown> = {
      "/api/runs?status=in-work&limit=100": {
        runs: [runOnWire({ "run-id": "run_3" }), runOnWire({ "run-id": "run_2" })],
        next: "c1",
      },
      "/api/runs?status=in-work&limit=100&after=c1": {
        runs: [runOnWire({ "run-id": "run_2" }), runOnWire({ "run-id": "run_1" })],
      },
    };
    await using service = await serviceOf((asked, response) => {
      const runId = idToCancel(asked);
      sendJson(
        response,
        200,
        runId === undefined ? pages[asked.path] : { "run-id": runId, status: "cancelling" },
      );
    });
    assert.deepEqual(await cancelMine(service.client(clock), never), [
      { runId: "run_3", kind: "cancelled", status: "cancelling" },
      { runId: "run_2", kind: "cancelled", status: "cancelling" },
      { runId: "run_1", kind: "cancelled", status: "cancelling" },
    ]);
    assert.equal(service.asked.length, 6);
  });

  it("leaves alone what others have started, and what nobody is told to have", async () => {
    await using service = await serviceOf((asked, response) => {
      const runId = idToCancel(asked);
      if (runId !== undefined) return sendJson(response, 200, { "run-id": runId, status: "cancelling" });
      const runs = [
        { "run-id": "run_5", status: "running", actor: "key_2" },
        { "run-id": "run_4", status: "paused", actor: "key_1" },
        { "run-id": "run_3", status: "succeeded", actor: "key_1" },
        { "run-id": "run_2", status: "done", actor: "key_1", "stopped-at": "2026-03-03T10:00:09Z" },
        { "run-id": "run_1", status: "running" },
        // Not the same id, also where these characters aren't shown.
        { "run-id": "run_0", status: "running", actor: "key\u0000_1" },
        { "run-id": "run_-1", status: "running", actor: "\u202ekey_1" },
      ];
      sendJson(response, 200, { runs });
    });
    const client = service.client(clock);
    assert.deepEqual(await cancelMine(client, never), [
      { runId: "run_4", kind: "cancelled", status: "cancelling" },
    ]);
    assert.deepEqual(
      (await myActiveRuns(client, never)).nobodys.map(({ runId }) => runId),
      ["run_1"],
    );
  });

  it("has nothing to do when no run is active", async () => {
    await using service = await serviceOf((_, response) => sendJson(response, 200, { runs: [] }));
    assert.deepEqual(await cancelMine(service.client(clock), never), []);
  });

  it("asks a service that is away for no more than some of many runs, and tells each of them", async () => {
    const runIds = Array.from({ length: 100 }, (_, index) => `run_${index}`);
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(503).end());
    const outcomes = await cancelEach(service.client(clock), runIds, never);
    assert.deepEqual(
      outcomes.map(({ runId, kind }) => `${runId} ${kind}`),
      runIds.map((runId) => `${runId} failed`),
    );
    // Eight in vain, and the three that were under way.
    assert.ok(service.asked.length <= 11, `${service.asked.length} requests`);
  });

  it("asks for each run while the service answers for others, however many go without an answer", async () => {
    const runIds = Array.from({ length: 40 }, (_, index) => `run_${index}`);
    await using service = await LoopbackService.listen((asked, response) => {
      const runId = idToCancel(asked) ?? "";
      if (/[13579]$/.test(runId)) response.writeHead(503).end();
      else sendJson(response, 200, { "run-id": runId, status: "cancelling" });
    });
    const outcomes = await cancelEach(service.client(clock), runIds, never);
    assert.equal(outcomes.filter(({ kind }) => kind === "cancelled").length, 20);
  });

  it("asks three times to cancel a run whose service doesn't answer", async () => {
    await using service = await LoopbackService.listen((_, response) => void response.writeHead(503).end());
    const [slow, counted] = [new FakeClock(), new CountedFetch()];
    const baseUrl = new URL(`${service.origin}/`);
    const client = new ServiceClient({ baseUrl, apiKey: "plr_test", clock: slow, fetch: counted.fetch });
    const cancelling = cancelWithRetries(() => client, undefined, "run_1", never);
    await assert.rejects(drive(cancelling, slow, service, counted), OutOfReach);
    assert.equal(service.asked.length, 3);
  });

  it("asks for no more than four at the same time", async () => {
    const runs = Array.from({ length: 10 }, (_, index) => runOnWire({ "run-id": `run_${index}` }));
    const held: (() => void)[] = [];
    let most = 0;
    await using service = await serviceOf(async (asked, response) => {
      const runId = idToCancel(asked);
      if (runId === undefined) return sendJson(response, 200, { runs });
      await new Promise<void>((resolve) => held.push(resolve));
      sendJson(response, 200, { "run-id": runId, status: "cancelling" });
    });
    const cancelled = cancelMine(service.client(clock), never);
    for (let answered = 0; answered < runs.length; answered++) {
      const inLine = Math.min(4, runs.length - answered);
      await service.until(() => held.length === inLine);
      most = Math.max(most, service.asked.length - 2 - answered);
      held.shift()?.();
    }
    assert.equal((await cancelled).length, 10);
    assert.equal(most, 4);
  });

  it("counts a run that has stopped by itself as cancelled, and says how it ended", async () => {
    await using service = await serviceOf((asked, response) => {
      if (idToCancel(asked) !== undefined) return sendError(response, 409, "conflict", "It has stopped.");
      if (asked.path === "/api/runs/run_1")
        return sendJson(response, 200, runOnWire({ status: "succeeded" }));
      sendJson(response, 200, { runs: [runOnWire()] });
    });
    assert.deepEqual(await cancelMine(service.client(clock), never), [
      { runId: "run_1", kind: "cancelled", status: "succeeded" },
    ]);
  });

  it("tells of each run that could not be cancelled, and goes on with the others", async () => {
    await using service = await serviceOf((asked, response) => {
      const runId = idToCancel(asked);
      if (runId === "run_1") return sendError(response, 500, "internal", "The disk is full.");
      if (runId === "run_2") return sendError(response, 409, "conflict", "Not now.");
      if (runId !== undefined) return sendJson(response, 200, { "run-id": runId, status: "cancelling" });
      if (asked.path === "/api/runs/run_2") return sendJson(response, 200, runOnWire({ "run-id": "run_2" }));
      sendJson(response, 200, { runs: ["run_1", "run_2", "run_3"].map((id) => runOnWire({ "run-id": id })) });
    });
    const outcomes = await cancelMine(service.client(clock), never);
    assert.deepEqual(
      outcomes.map((outcome) => [
        outcome.runId,
        outcome.kind === "failed" && outcome.error instanceof Error ? outcome.error.message : outcome.kind,
      ]),
      [
        ["run_1", "The disk is full."],
        ["run_2", "Not now."],
        ["run_3", "cancelled"],
      ],
    );
  });

  it("tells apart a service that has no list of runs", async () => {
    await using service = await serviceOf((_, response) => void response.writeHead(404).end());
    const cancelled = cancelMine(service.client(clock), never);
    await assert.rejects(cancelled, (error) => error instanceof AbsentEndpoint);
  });

  it("does not follow pages in a circle", async () => {
    await using service = await serviceOf((_, response) =>
      sendJson(response, 200, { runs: [], next: "again" }),
    );
    await assert.rejects(cancelMine(service.client(clock), never), /leads back to a page that came before/);
    assert.equal(service.asked.filter(({ path }) => path.startsWith("/api/runs?")).length, 2);
  });

  it("takes a service that is gone for out of reach, since it may be elsewhere now", async () => {
    let isGone = false;
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path !== "/api/org" || isGone) {
        isGone = true;
        return void response.destroy();
      }
      sendJson(response, 200, orgOnWire);
    });
    await assert.rejects(cancelMine(service.client(clock), never), { type: "out-of-reach" });
  });

  it("tells of what was cancelled before the signal stops it", async () => {
    await using service = await serviceOf((asked, response) => {
      const runId = idToCancel(asked);
      if (runId === "run_1") sendJson(response, 200, { "run-id": runId, status: "cancelling" });
    });
    const stop = new AbortController();
    const told: string[] = [];
    const cancelled = cancelEach(service.client(clock), ["run_1", "run_2"], stop.signal, ({ runId }) => {
      told.push(runId);
      stop.abort(new Error("enough"));
    });
    await assert.rejects(cancelled, /enough/);
    assert.deepEqual(told, ["run_1"]);
  });

  it("stops with the signal", async () => {
    await using service = await serviceOf((asked, response) => {
      if (idToCancel(asked) === undefined) sendJson(response, 200, { runs: [runOnWire()] });
    });
    const stop = new AbortController();
    const cancelled = cancelMine(service.client(clock), stop.signal);
    await service.until(() => service.asked.length === 3);
    stop.abort(new Error("enough"));
    await assert.rejects(cancelled, /enough/);
    await service.until(() => service.left === 1);
    assert.equal(clock.alarms, 0);
  });
});
