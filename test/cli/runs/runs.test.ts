import assert from "node:assert/strict";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { servedToolbox } from "../toolbox.ts";

interface ToldRun {
  readonly "run-id": string;
  readonly status: string;
}

describe("pipeline runs", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("lists the newest first", async () => {
    assert.match((await tool.call(["runs", "list"])).stderr, /No runs yet/);
    await tool.write("hello", programPipeline(""));
    await tool.call(["run", "hello", "hello"]);
    const { runs } = JSON.parse((await tool.call(["runs", "list", "--json"])).stdout) as { runs: ToldRun[] };
    assert.equal(runs.length, 2);
    assert((runs[0]?.["run-id"] ?? "") > (runs[1]?.["run-id"] ?? ""));
    const { stdout } = await tool.run(["runs", "list", "--limit", "1"]);
    assert.match(stdout, /^run_\w+\tsucceeded\thello\t[^\t]+\t\S+Z\t\S+Z\tkey_\w+\t\tThis machine [^\t]*\t$/);
  });

  it("cancels one run by its id; a run that has stopped already is no error", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    const [run] = JSON.parse((await tool.call(["run", "long", "--detach", "--json"])).stdout)
      .runs as ToldRun[];
    const id = run?.["run-id"] ?? "";
    const cancelled = await tool.run(["runs", "cancel", id]);
    assert.equal(cancelled.exitCode, 0);
    assert.equal(cancelled.stdout, `${id} cancelling`);
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.call(["run", "hello"])).exitCode, 0);
    const again = JSON.parse((await tool.call(["runs", "cancel", id, "--json"])).stdout);
    assert.deepEqual(again, {
      ok: true,
      command: "runs cancel",
      runs: [{ "run-id": id, status: "cancelled" }],
      warnings: [],
    });
  });

  it("cancels each of the caller's own with --mine, and says so when there is none", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    const none = await tool.call(["runs", "cancel", "--mine"]);
    assert.equal(none.exitCode, 0);
    assert.match(none.stderr, /^You have no active runs\.$/m);
    await tool.call(["run", "long", "--detach"]);
    assert.match((await tool.call(["runs", "cancel", "--mine"])).stdout, /^run_\w+ cancelling$/);
  });

  it("is told what is wrong when neither an id nor --mine is given, or both", async () => {
    assert.equal((await tool.call(["runs", "cancel"])).exitCode, 2);
    assert.equal((await tool.call(["runs", "cancel", "run_1", "--mine"])).exitCode, 2);
    const unknown = await tool.call(["runs", "cancel", "run_1"]);
    assert.equal(unknown.exitCode, 2);
    assert.match(unknown.stderr, /no run `run_1`/);
  });
});
