import assert from "node:assert/strict";
import {
  type Answer,
  LoopbackService,
  orgOnWire,
  runOnWire,
  sendJson,
  testKey,
} from "../../client/loopbackService.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { servedToolbox, toolbox, written } from "../toolbox.ts";

/** What `pipeline org` says of a service that answers for its runs like this. */
async function toldWith(answerRuns: Answer) {
  await using service = await LoopbackService.listen((asked, response, gone) =>
    asked.path.startsWith("/api/runs")
      ? answerRuns(asked, response, gone)
      : sendJson(response, 200, orgOnWire),
  );
  await using tool = await toolbox();
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  const told = await tool.call(["org", "--json"], env);
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

  it("names the keys that have names, and those who wait hear of them, too", async () => {
    await using tool = await servedToolbox();
    await tool.write("long", programPipeline(untilCancelled));
    const named = ["keys", "create", "--role", "member", "--org", "This machine", "--name", "ada", "--json"];
    const { "api-key": key } = JSON.parse((await tool.call(named)).stdout);
    const ada = { PIPELINE_BASE_URL: tool.service.url, PIPELINE_API_KEY: key };
    await tool.call(["run", "long", "--detach"]);
    await tool.call(["runs", "cancel", "--mine", "--wait"]);
    await tool.call(["run", "long", "--detach"], ada);
    const { stdout } = await tool.call(["org"]);
    assert.match(stdout, /running long run_\w+, started by ada /);
    assert.match(stdout, /started by (you 1, ada 1|ada 1, you 1)\./);
    const { "by-actor": use } = JSON.parse((await tool.call(["org", "--json"])).stdout);
    assert.equal(use.find((of: Record<string, unknown>) => of["actor-name"] === "ada").runs, 1);
    assert.match(
      (await tool.call(["org"], ada)).stdout,
      /started by .*This machine \(editor and terminal\) 1/,
    );
    const waiting = tool.spawn(["run", "long"]);
    await written(waiting.stderr, /waiting for long \(run_\w+, by ada, up to .* left\) to finish/);
    waiting.kill("SIGINT");
    await waiting;
    const own = tool.spawn(["run", "long"], ada);
    await written(own.stderr, /waiting for long \(run_\w+, up to .* left\) to finish/);
    own.kill("SIGINT");
    await own;
    await tool.call(["runs", "cancel", "--mine", "--wait"], ada);
    const [first = ""] = (await tool.call(["runs", "list"])).stdout.split("\n");
    assert.match(first, /\tkey_\w+\t\tada\tcancelled by ada$/);
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
