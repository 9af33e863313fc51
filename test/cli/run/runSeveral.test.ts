import assert from "node:assert/strict";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { serviceProxy } from "../serviceProxy.ts";
import { servedToolbox } from "../toolbox.ts";

/** `name status` of each run that an object tells of. */
function told(stdout: string): string[] {
  const { runs } = JSON.parse(stdout) as { runs: { pipeline: string; status: string }[] };
  return runs.map(({ pipeline, status }) => `${pipeline} ${status}`);
}

describe("pipeline run, several pipelines", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("sums up: how many came to what, how long it took, and how many of today's runs are used", async () => {
    await tool.write("good", programPipeline(""));
    await tool.write("bad", programPipeline("process.exit(1)"));
    const { exitCode, stdout, stderr } = await tool.run(["run", "good", "bad", "good"]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^3 runs: 2 succeeded, 1 failed · \d[\d.]* m?s · 3 of 50 runs used today$/m);
    assert.match(stderr, /✓ good: only/);
    assert.match(stderr, /✗ bad: only/);
    assert.match(stdout, /^run_\w+ good succeeded\nrun_\w+ bad failed\nrun_\w+ good succeeded$/);
    const quiet = await tool.call(["run", "good", "good", "--quiet"]);
    assert.deepEqual([quiet.exitCode, quiet.stderr], [0, ""]);
  });

  it("runs one after the other in a free org, with one warning where more at a time are asked for", async () => {
    await tool.write("one", programPipeline(""));
    await tool.write("two", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.call(["run", "one", "two", "--parallel", "5", "--json"]);
    assert.equal(exitCode, 0);
    const warning = "--parallel 5 is more than the org's limit (tier free): 1 at the same time.";
    assert.equal(stderr.split(warning).length - 1, 1);
    assert.deepEqual(JSON.parse(stdout).warnings, [warning]);
    assert.deepEqual(told(stdout), ["one succeeded", "two succeeded"]);
  });

  it("makes two runs of a name that is given twice", async () => {
    await tool.write("hello", programPipeline(""));
    const { stdout } = await tool.call(["run", "hello", "hello", "--json"]);
    assert.equal(new Set(JSON.parse(stdout).runs.map((run: { "run-id": string }) => run["run-id"])).size, 2);
  });

  it("runs those with a tag, and none where that can't be known or nothing has it", async () => {
    await using own = await servedToolbox();
    await own.write("lint", `tags: [fast]\n${programPipeline("")}`);
    await own.write("soak", `tags: [nightly]\n${programPipeline("")}`);
    await own.write("unit", `tags: [fast, nightly]\n${programPipeline("")}`);
    const fast = await own.call(["run", "--tag", "fast", "--json"]);
    assert.deepEqual(told(fast.stdout), ["lint succeeded", "unit succeeded"]);
    const both = await own.call(["run", "--tag", "nightly", "--tag=fast", "--json"]);
    assert.deepEqual(told(both.stdout), ["lint succeeded", "soak succeeded", "unit succeeded"]);
    const elsewhere = await own.call(["run", "--tag", "nightly", "--json"], {}, own.data);
    assert.deepEqual(
      told(elsewhere.stdout),
      ["soak succeeded", "unit succeeded"],
      "those that the service knows",
    );
    const slow = await own.call(["run", "--tag", "fast", "--tag", "slow"]);
    assert.equal(slow.exitCode, 2);
    assert.match(
      slow.stderr,
      /No pipeline has the tag `slow`, so none was started\.\nThe tags are: fast, nightly\./,
    );
    for (const line of ["run lint --tag fast", "run --tag fast --from only"]) {
      assert.equal((await own.call(line.split(" "))).exitCode, 2, line);
    }
    await own.write("broken", "tags: [fast]\nsteps: 3\n");
    const doubtful = await own.call(["run", "--tag", "fast"]);
    assert.equal(doubtful.exitCode, 2);
    assert.match(
      doubtful.stderr,
      /tags of pipelines\/broken\.yaml aren't known, since it can't be run\. None was started:\npipelines\/broken\.yaml:2:8: /,
    );
  });

  it("starts none of them when one doesn't exist, or can't be run", async () => {
    await tool.write("hello", programPipeline(""));
    await tool.write("broken", "steps: 7\n");
    const used = async () => JSON.parse((await tool.call(["org", "--json"])).stdout).usage["runs-today"];
    const before = await used();
    const missing = await tool.call(["run", "hello", "helo", "hello", "--json"]);
    assert.equal(missing.exitCode, 2);
    assert.deepEqual(JSON.parse(missing.stdout), {
      ok: false,
      command: "run",
      error: {
        type: "not-found",
        message: "There is no pipeline `helo`, so none was started. Did you mean `hello`?",
      },
      hints: [],
      runs: [],
      warnings: [],
    });
    const broken = await tool.call(["run", "hello", "broken"]);
    assert.equal(broken.exitCode, 2);
    assert.match(broken.stderr, /can't be run, so none was started:\npipelines\/broken\.yaml:1:\d+: /);
    assert.equal(await used(), before);
  });

  it("starts them all the same on a service that lists no pipelines, and nothing after a fault", async () => {
    await tool.write("hello", programPipeline(""));
    await using proxy = await serviceProxy(tool.data, { absent: [/^\/api\/pipelines/] });
    const { exitCode, stdout } = await tool.call(["run", "hello", "helo", "hello", "--json"], proxy.env);
    assert.equal(exitCode, 2);
    assert.equal(JSON.parse(stdout).error.type, "not-found");
    assert.match(JSON.parse(stdout).error.message, /Not started: hello\.$/);
    assert.deepEqual(told(stdout), ["hello succeeded"]);
  });

  it("prints the ids of what it started, with --detach", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("quick", programPipeline(""));
    const { exitCode, stdout } = await tool.call(["run", "quick", "long", "--detach"]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^run_\w+ quick running\nrun_\w+ long running$/);
  });
});
