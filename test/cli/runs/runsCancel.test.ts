import assert from "node:assert/strict";
import { LoopbackService, orgOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { onTerminal } from "../onTerminal.ts";
import { servedToolbox, written } from "../toolbox.ts";

/** A service with only the given endpoints, which knows some runs by the answer to their cancelling. */
async function givenService(answers: Readonly<Record<string, string | number>>) {
  const service = await LoopbackService.listen(({ method, path }, response) => {
    if (method === "GET" && path === "/api/org") return sendJson(response, 200, orgOnWire);
    const runId = method === "POST" ? /^\/api\/runs\/(.*)\/cancel$/.exec(path)?.[1] : undefined;
    const answer = runId === undefined ? undefined : answers[runId];
    if (typeof answer === "string") return sendJson(response, 200, { "run-id": runId, status: answer });
    if (answer === 403) return sendError(response, 403, "forbidden", "Viewers can't.");
    if (answer === 500) return sendError(response, 500, "internal", "The disk is full.");
    return void response.writeHead(404).end();
  });
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  return { service, env, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

describe("pipeline runs cancel", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("waits with --wait until the slot is given up", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.call(["run", "long", "--detach"]);
    const { stdout, exitCode } = await tool.run(["runs", "cancel", "--mine", "--wait"]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^run_\w+ cancelled$/);
    assert.deepEqual(JSON.parse((await tool.call(["org", "--json"])).stdout)["runs-in-work"], []);
  });

  itOn(
    "linux",
    "takes the only active run of one's own where a person names none, and asks among several",
    async () => {
      await tool.write("long", programPipeline(untilCancelled));
      const started = async () => JSON.parse((await tool.call(["run", "long", "--detach", "--json"])).stdout);
      const [first] = (await started()).runs;
      const cancel = () => onTerminal(tool, "runs cancel --wait", {}, 200);
      assert.equal((await tool.call(["runs", "cancel"])).exitCode, 2, "a script names it");
      const one = await cancel();
      assert.equal(one.exitCode, 0);
      assert(one.stdout.includes(first["run-id"]), one.stdout);
      assert.match((await cancel()).stdout, /You have no active runs\./);

      await tool.call(["orgs", "set", "--parallel-runs", "2"]);
      const ids = [(await started()).runs[0]["run-id"], (await started()).runs[0]["run-id"]];
      const several = await cancel();
      assert.equal(several.exitCode, 2);
      for (const id of ids) assert(several.stdout.includes(id), several.stdout);
      assert.equal((await tool.call(["runs", "cancel", "--mine", "--wait"])).exitCode, 0);
      await tool.call(["orgs", "set", "--parallel-runs", "1"]);
    },
  );

  it("cancels each id once, and tells each that failed, with exit code 1", async () => {
    await using given = await givenService({ run_1: "cancelling", run_2: 500, run_3: 403 });
    const ids = ["run_1", "run_2", "run_1", "run_3"];
    const { exitCode, stdout, stderr } = await tool.call(["runs", "cancel", ...ids], given.env);
    assert.equal(exitCode, 1);
    assert.equal(stdout, "run_1 cancelling");
    assert.match(stderr, /run_2: The disk is full\. .*\nrun_3: Viewers can't\. /);
    assert.equal(given.service.asked.filter(({ path }) => path.includes("run_1")).length, 1);
    const told = JSON.parse((await tool.call(["runs", "cancel", ...ids, "--json"], given.env)).stdout);
    assert.equal(told.ok, false);
    assert.deepEqual(told.runs, [{ "run-id": "run_1", status: "cancelling" }]);
    assert.deepEqual(
      told.failed.map((each: { "run-id": string; error: { type: string } }) => [
        each["run-id"],
        each.error.type,
      ]),
      [
        ["run_2", "internal"],
        ["run_3", "forbidden"],
      ],
    );
  });

  it("ends with the code of the one reason that all failed for", async () => {
    await using given = await givenService({ run_1: 403, run_2: 403 });
    const { exitCode, stderr } = await tool.call(["runs", "cancel", "run_1", "run_2"], given.env);
    assert.equal(exitCode, 3);
    assert.equal(stderr.match(/Ask an owner/g)?.length, 1);
    assert.equal((await tool.call(["runs", "cancel", "run_9"], given.env)).exitCode, 2);
  });

  it("counts a run that has stopped as done, where the service says so in its way", async () => {
    await using service = await LoopbackService.listen(({ method, path }, response) => {
      if (method === "POST") return sendError(response, 409, "conflict", "It has stopped.");
      if (path === "/api/runs/run_1") {
        return sendJson(response, 200, {
          ...{ "run-id": "run_1", pipeline: "p", project: "q", status: "succeeded", actor: "k", runner: "r" },
          ...{ "created-at": "2026-03-03T10:00:00Z", "stopped-at": "2026-03-03T10:00:09Z" },
          "time-limit-seconds": 30,
        });
      }
      return void response.writeHead(404).end();
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const { exitCode, stdout } = await tool.call(["runs", "cancel", "run_1"], env);
    assert.equal(exitCode, 0);
    assert.equal(stdout, "run_1 succeeded");
  });

  it("has a run cancelled, with a warning, where the service can't show how it stops", async () => {
    await using service = await LoopbackService.listen(({ method, path }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (method === "POST") return sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
      return sendError(response, 500, "internal", "The disk is full.");
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const waited = await tool.call(["runs", "cancel", "run_1", "--wait"], env);
    assert.deepEqual([waited.exitCode, waited.stdout], [0, "run_1 cancelling"], waited.stderr);
    assert.match(waited.stderr, /warning: .* doesn't tell when a run has stopped/);
  });

  it("tells what is cancelled before Ctrl-C ends it", async () => {
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/runs/run_1/cancel")
        sendJson(response, 200, { "run-id": "run_1", status: "cancelling" });
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const cancelling = tool.spawn(["runs", "cancel", "run_1", "run_2"], env);
    await written(cancelling.stdout, /run_1 cancelling/);
    cancelling.kill("SIGINT");
    const { exitCode, stdout } = await cancelling;
    assert.deepEqual([exitCode, stdout], [130, "run_1 cancelling"]);
  });

  it("says what a service with only the given endpoints can't do", async () => {
    await using given = await givenService({ run_1: "cancelling" });
    const mine = await tool.call(["runs", "cancel", "--mine"], given.env);
    assert.equal(mine.exitCode, 4);
    assert.match(
      mine.stderr,
      /The runs of your key can't be listed: .*\nName each: `pipeline runs cancel <id>…`/,
    );
    const waited = await tool.call(["runs", "cancel", "run_1", "--wait"], given.env);
    assert.equal(waited.exitCode, 0);
    assert.equal(waited.stdout, "run_1 cancelling");
    assert.match(waited.stderr, /warning: .* doesn't tell when a run has stopped/);
    const org = await tool.call(["org"], given.env);
    assert.equal(org.exitCode, 0);
    assert.match(org.stdout, /^Lamps \(org_1\), tier free, 1 run at a time\n7 of 50 runs used today\./);
    assert.doesNotMatch(org.stdout, /slot/);
    const { "runs-in-work": inWork } = JSON.parse((await tool.call(["org", "--json"], given.env)).stdout);
    assert.equal(inWork, undefined);
  });
});
