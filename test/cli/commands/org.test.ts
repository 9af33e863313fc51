import assert from "node:assert/strict";
import {
  type Answer,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendJson,
  testKey,
} from "../../client/loopbackService.ts";
import { toolbox } from "../toolbox.ts";

/** What `pipeline org` says of a service that answers for its runs like this. */
async function toldWith(answerRuns: Answer) {
  await using service = await LoopbackService.listen((asked, response, gone) =>
    asked.path.startsWith("/api/runs")
      ? answerRuns(asked, response, gone)
      : sendJson(response, 200, orgOnWire),
  );
  await using tool = await toolbox();
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  const told = await tool.run(["org", "--json"], env);
  return { ...told, facts: JSON.parse(told.stdout) };
}

describe("pipeline org", () => {
  it("tells the org of a service that keeps its runs to itself, or doesn't answer for them", async () => {
    const silent: Answer = () => undefined;
    const absent: Answer = (_, response) => void response.writeHead(404).end();
    for (const answer of [silent, absent]) {
      const { exitCode, facts, stderr } = await toldWith(answer);
      assert.equal(exitCode, 0, stderr);
      assert.equal(facts["org-name"], orgOnWire["org-name"]);
      assert(!("runs-in-work" in facts));
    }
  });

  it("tells who used the day's runs, by pipeline and by key", async () => {
    const at = new Date().toISOString();
    const stopped = { status: "succeeded", "created-at": at, "stopped-at": at };
    const runs = [
      runOnWire({ ...stopped, "run-id": "run_3" }),
      runOnWire({ ...stopped, "run-id": "run_2", pipeline: "hello" }),
      runOnWire({ ...stopped, "run-id": "run_1" }),
    ];
    const { facts } = await toldWith((_, response) => sendJson(response, 200, { runs }));
    const { pipeline, actor } = runOnWire();
    assert.deepEqual(facts["by-pipeline"], [
      { pipeline, runs: 2 },
      { pipeline: "hello", runs: 1 },
    ]);
    assert.deepEqual(facts["by-actor"], [{ actor, runs: 3 }]);
  });

  it("shows no run that has stopped, where a service doesn't know what it is asked for", async () => {
    const runs = [
      runOnWire({ "run-id": "run_2", status: "succeeded", "stopped-at": "2026-03-03T10:01:00Z" }),
      runOnWire({ "run-id": "run_1" }),
    ];
    const { facts } = await toldWith((_, response) => sendJson(response, 200, { runs }));
    assert.deepEqual(
      facts["runs-in-work"].map((run: Record<string, unknown>) => run["run-id"]),
      ["run_1"],
    );
  });
});
