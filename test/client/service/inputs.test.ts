import assert from "node:assert/strict";
import { listRuns } from "../../../src/client/follow/listRuns.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, runOnWire, sendError, sendJson } from "../loopbackService.ts";

const never = new AbortController().signal;
const options = { waitSeconds: 0, idempotencyKey: "a" };

/** A service whose health says what a test wants. */
function service(health: Readonly<Record<string, unknown>> | undefined): Promise<LoopbackService> {
  return LoopbackService.listen(({ method }, response) => {
    if (method === "POST") return sendJson(response, 201, runOnWire());
    return health === undefined
      ? sendError(response, 404, "not-found")
      : sendJson(response, 200, { ok: true, ...health });
  });
}

describe("a client that starts a run with inputs", () => {
  it("starts nothing at a service that doesn't say that it takes some, since that could run with wrong values", async () => {
    for (const health of [undefined, {}, { inputs: false }, { inputs: "yes" }]) {
      await using foreign = await service(health);
      const client = foreign.client(systemClock);
      const request = { pipeline: "a", inputs: { region: "eu" } };
      await assert.rejects(client.start(request, options, never), {
        type: "not-supported",
        message: `${foreign.host} doesn't take the inputs of a run, so none was started.`,
      });
      assert(foreign.asked.every(({ method }) => method === "GET"));
    }
  });

  it("asks once whether it does, and not for a start without any", async () => {
    await using ours = await service({ inputs: true });
    const client = ours.client(systemClock);
    await client.start({ pipeline: "a", inputs: {} }, options, never);
    for (let time = 0; time < 2; time++) {
      const inputs = { "base-url": "http://x", baseUrl: "a\nb", lamps: 2, visit: false };
      await client.start({ pipeline: "a", inputs }, options, never);
    }
    assert.deepEqual(
      ours.asked.map(({ method, path }) => `${method} ${path}`),
      ["POST /api/runs", "GET /healthz", "POST /api/runs", "POST /api/runs"],
    );
    assert.deepEqual(JSON.parse(ours.asked[2]?.body ?? ""), {
      pipeline: "a",
      inputs: { "base-url": "http://x", baseUrl: "a\nb", lamps: 2, visit: false },
    });
  });
});

describe("a list of runs with an input", () => {
  it("holds only those that have it, also from a service that ignores that", async () => {
    const runs = [
      runOnWire({ "run-id": "run_3", inputs: { region: "eu", lamps: 2 } }),
      runOnWire({ "run-id": "run_2", inputs: { region: "us", lamps: 2 } }),
      runOnWire({ "run-id": "run_1" }),
    ];
    await using foreign = await LoopbackService.listen((_, response) => sendJson(response, 200, { runs }));
    const wanted = { statuses: [], limit: 5, input: ["region=eu", "lamps=2"] };
    const found = await listRuns(foreign.client(systemClock), wanted, never);
    assert.deepEqual(
      found.runs.map(({ runId }) => runId),
      ["run_3"],
    );
    const { searchParams } = new URL(foreign.asked[0]?.path ?? "", "http://a");
    assert.deepEqual(searchParams.getAll("input"), ["region=eu", "lamps=2"]);
  });
});
