import assert from "node:assert/strict";
import { Agent, revisions } from "../../../cli/mcp/agent.ts";
import { serviceProxy } from "../../../cli/serviceProxy.ts";
import { servedToolbox } from "../../../cli/toolbox.ts";
import { fillDay } from "../../../service/fillDay.ts";
import { programPipeline, untilCancelled } from "../../../service/startedService.ts";

describe("what an agent does by `pipeline mcp`", () => {
  let box: Awaited<ReturnType<typeof servedToolbox>>;
  beforeEach(async () => {
    box = await servedToolbox();
    await box.write("hello", programPipeline("console.log('hi')"));
    await box.write("endless", programPipeline(untilCancelled));
  });
  afterEach(() => box[Symbol.asyncDispose]());

  for (const revision of revisions) {
    it(`is to start, wait for and cancel runs at revision ${revision}`, async () => {
      await using agent = await Agent.of(box, revision);
      const { tools } = await agent.client.listTools();
      const acting = tools.filter(({ annotations }) => annotations?.readOnlyHint === false);
      assert.deepEqual(
        acting.map(({ name, annotations }) => [
          name,
          annotations?.destructiveHint,
          annotations?.openWorldHint,
        ]),
        [
          ["start_run", true, true],
          ["cancel_run", true, false],
          ["cancel_my_runs", true, false],
        ],
      );
      assert.match(agent.client.getInstructions() ?? "", /Start a run once/);
      const begun = await agent.call("start_run", { pipeline: "hello" });
      assert.deepEqual(begun.value["steps"], [{ name: "only", type: "cli" }]);
      assert.match(begun.text, /1\. only \(cli\)/);
      assert.equal(begun.value.quota?.["runs-today"], 1);
      const runId = begun.value.run?.["run-id"];
      const waited = await agent.call("wait_for_run", { "run-id": runId });
      assert.equal(waited.value.run?.status, "succeeded");
      assert.match(waited.value.quota?.next ?? "", /slot is free/);

      const endless = (await agent.call("start_run", { pipeline: "endless" })).value.run?.["run-id"];
      const cancelled = await agent.call("cancel_run", { "run-id": endless });
      assert.match(String(cancelled.value["status"]), /^cancel/);
      const end = await agent.call("wait_for_run", { "run-id": endless });
      assert.equal(end.value.run?.status, "cancelled");
      assert.deepEqual((await agent.call("cancel_my_runs")).value["runs"], []);
    });
  }

  it("is said of its runs, in the lists and at the beginning of the log", async () => {
    await using agent = await Agent.of(box, "2026-07-28", [], { name: "some\u00a0agent" });
    const runId = (await agent.call("start_run", { pipeline: "hello" })).value.run?.["run-id"] ?? "";
    await agent.call("wait_for_run", { "run-id": runId });
    const said = async (...words: string[]): Promise<string> => (await box.call(words)).stdout;
    assert.equal(JSON.parse(await said("runs", "show", runId, "--json")).agent, "some?agent");
    assert.match(await said("runs", "list"), /\tsome\?agent\t/);
    assert.match(await said("runs", "show", runId), /agent +some\?agent/);
    assert.match(await said("runs", "log", runId), /^started by the agent some\?agent\n/);
    await box.call(["run", "hello"]);
    assert.equal(JSON.parse(await said("runs", "show", "--json")).agent, undefined);
  });

  it("is told that a wait isn't over, with progress, while the run goes on", async () => {
    await using agent = await Agent.of(box);
    const runId = (await agent.call("start_run", { pipeline: "endless" })).value.run?.["run-id"];
    const told: (string | undefined)[] = [];
    const waited = await agent.call("wait_for_run", { "run-id": runId, seconds: 1 }, ({ message }) =>
      told.push(message),
    );
    assert.equal(waited.value["is-stopped"], false);
    assert.equal(waited.isError, false);
    assert.match(waited.text, /call wait_for_run again/);
    assert.match(told[0] ?? "", /endless running/);
    const mine = await agent.call("cancel_my_runs");
    assert.match(mine.text, new RegExp(`${runId} cancel`));
  });

  it("asks the service once for ten starts while the slot is taken, and starts once it is free", async () => {
    await using proxy = await serviceProxy(box.data);
    const holder = JSON.parse((await box.call(["run", "endless", "--detach", "--json"])).stdout).runs[0];
    await using agent = await Agent.of(box, "2026-07-28", [], { env: proxy.env });
    for (let count = 1; count <= 10; count++) {
      const { isError, value, text } = await agent.call("start_run", { pipeline: "hello" });
      assert.equal(isError, true);
      assert.equal(value.refusal?.scope, "org");
      assert.equal(value.refusal.retryable, true);
      assert.equal(value.refusal.holder?.["run-id"], holder["run-id"]);
      assert.match(
        text,
        /hello was not started: another run holds the slot\. Call wait_for_run with run-id run_/,
      );
      assert.equal(value.quota?.["runs-today"], 1);
    }
    const lines = proxy.passed;
    assert.equal(lines.filter((line) => line === "POST /api/runs").length, 1);
    assert.equal(lines.length, 4, lines.join("\n"));

    await agent.call("cancel_run", { "run-id": holder["run-id"] });
    await agent.call("wait_for_run", { "run-id": holder["run-id"] });
    const begun = await agent.call("start_run", { pipeline: "hello" });
    assert.equal(begun.isError, false, begun.text);
  });

  it("is refused a used-up day by the service once, and then without it", async () => {
    await using proxy = await serviceProxy(box.data);
    await fillDay(box.data, 50);
    await using agent = await Agent.of(box, "2026-07-28", [], { env: proxy.env });
    for (let count = 1; count <= 3; count++) {
      const { isError, value } = await agent.call("start_run", { pipeline: "hello" });
      assert.equal(isError, true);
      assert.deepEqual([value.refusal?.scope, value.refusal?.retryable], ["free-day", false]);
      const seconds = value.refusal?.["retry-after-seconds"] ?? 0;
      assert.ok(seconds > 0 && seconds <= 86_400);
      assert.match(value.refusal?.["resets-at"] ?? "", /T00:00:00\.000Z$/);
    }
    const lines = proxy.passed;
    assert.equal(lines.filter((line) => line === "POST /api/runs").length, 1);
    assert.equal(lines.length, 4, lines.join("\n"));
  });

  it("leaves the last runs of the day to people with --reserve", async () => {
    await using proxy = await serviceProxy(box.data);
    await fillDay(box.data, 40);
    await using agent = await Agent.of(box, "2026-07-28", ["--reserve", "10"], { env: proxy.env });
    const { isError, value, text } = await agent.call("start_run", { pipeline: "hello" });
    assert.equal(isError, true);
    assert.equal(value.refusal?.scope, "reserve");
    assert.equal(value.quota?.["starts-left"], 0);
    assert.match(text, /the last 10 of the day are left to people/);
    assert.equal(proxy.passed.includes("POST /api/runs"), false);
    const person = await box.call(["run", "hello"]);
    assert.equal(person.exitCode, 0, person.stderr);
  });

  it("starts no more runs than --max-runs, also by calls at once and by one that was cancelled", async () => {
    const replying = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    await using proxy = await serviceProxy(box.data, {
      beforeReply: (line) => {
        if (line !== "POST /api/runs") return undefined;
        replying.resolve();
        return cancelled.promise;
      },
    });
    await using agent = await Agent.of(box, "2026-07-28", ["--max-runs", "1"], { env: proxy.env });
    const giveUp = new AbortController();
    const call = agent.client.callTool(
      { name: "start_run", arguments: { pipeline: "endless" } },
      { signal: giveUp.signal },
    );
    await replying.promise;
    giveUp.abort();
    await assert.rejects(call);
    const others = [1, 2, 3].map(() => agent.call("start_run", { pipeline: "hello" }));
    cancelled.resolve();
    for (const { value, isError } of await Promise.all(others)) {
      assert.equal(isError, true);
      assert.equal(value.refusal?.scope, "session");
    }
    const { runs } = JSON.parse((await box.call(["runs", "list", "--json"])).stdout);
    assert.equal(runs.length, 1);
    const end = await agent.call("wait_for_run", { "run-id": runs[0]["run-id"] });
    assert.equal(end.value.run?.status, "cancelled", "nobody follows the run of a cancelled call");
  });

  it("is told what is wrong with a pipeline, which uses nothing of the day", async () => {
    await box.write("broken", "steps: 1\n");
    await box.write("unset", `env-file: .env\n${programPipeline("")}`);
    await using agent = await Agent.of(box);
    for (const [pipeline, problem] of [
      ["broken", /broken\.yaml/],
      ["unset", /unset\.yaml:1:11: the pipeline's env-file, `\.env`, isn't in the project's folder/],
      ["none", /There is no pipeline `none`/],
    ] as const) {
      const { isError, text, value } = await agent.call("start_run", { pipeline });
      assert.equal(isError, true);
      assert.match(text, problem);
      assert.equal(value.quota?.["runs-today"], 0);
    }
  });
});
