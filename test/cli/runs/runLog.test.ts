import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { execa } from "execa";
import { LoopbackService, runOnWire, sendJson, testKey } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { serviceProxy } from "../serviceProxy.ts";
import { servedToolbox, toolbox } from "../toolbox.ts";

/** Without the lines that say when a step began and ended. */
function output(text: string): string[] {
  return text.split("\n").filter((line) => !/^\$ |exited with/.test(line));
}

describe("pipeline run --log", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("prints one run's log on standard output, and its result as the last line", async () => {
    await tool.write("talk", programPipeline("console.log('one\\n\\ntwo'); console.error('three')"));
    const { exitCode, stdout, stderr } = await tool.run(["run", "talk", "--log"]);
    assert.equal(exitCode, 0);
    const lines = output(stdout);
    assert.match(lines.pop() ?? "", /^run_\w+ talk succeeded$/);
    assert.deepEqual(lines.toSorted(), ["", "one", "three", "two"]);
    assert(!stderr.includes("three"));
  });

  itOn(
    "posix",
    "prints the line of a step's end behind the step's output, where both go to one place",
    async () => {
      const steps = [1, 2, 3, 4, 5].map(
        (number) => `  - { name: step ${number}, use: shell, run: "sleep 0.1; echo said ${number}" }`,
      );
      await tool.write("talk", ["resources: { shell: { type: cli } }", "steps:", ...steps, ""].join("\n"));
      const line = 'exec "$0" "$1" run talk --log 2>&1';
      const { stdout } = await execa("sh", ["-c", line, process.execPath, tool.path], {
        cwd: tool.project,
        env: tool.env,
      });
      const told = stdout.split("\n").flatMap((text) => /^said \d$|✓ step \d/.exec(text) ?? []);
      assert.deepEqual(
        told,
        [1, 2, 3, 4, 5].flatMap((number) => [`said ${number}`, `✓ step ${number}`]),
      );
    },
  );

  it("prints it on standard error where standard output holds one object", async () => {
    await tool.write("talk", programPipeline("console.log('one')"));
    const { stdout, stderr } = await tool.call(["run", "talk", "--log", "--json", "--quiet"]);
    assert.equal(JSON.parse(stdout).ok, true);
    assert.deepEqual(output(stderr), ["one"]);
  });

  it("says whose each line is where several pipelines are run, on standard error", async () => {
    await tool.write("talk", programPipeline("console.log('one')"));
    await tool.write("sing", programPipeline("console.log('two')"));
    const { stdout, stderr } = await tool.call(["run", "talk", "sing", "--log", "--quiet"]);
    assert.match(stdout, /^run_\w+ talk succeeded\nrun_\w+ sing succeeded$/);
    assert.deepEqual(output(stderr.replace(/^.*(\$ |exited with).*\n?/gm, "").trim()), [
      "talk: one",
      "sing: two",
    ]);
  });

  it("lets nothing through that would drive a terminal", async () => {
    const hostile = "\\x1b]0;title\\x07\\x1b[2J\\x1b[31mred\\x1b[0m\\x1b[1A end";
    await tool.write("talk", programPipeline(`console.log('${hostile}')`));
    const { stdout } = await tool.call(["run", "talk", "--log"]);
    assert.equal(output(stdout)[0], "red end");
    const coloured = await tool.call(["run", "talk", "--log"], { FORCE_COLOR: "1" });
    assert.equal(output(coloured.stdout)[0], "\u001b[31mred\u001b[0m end");
  });

  it("warns when the service has no log, and ends as the run did", async () => {
    await tool.write("talk", programPipeline("console.log('one'); process.exit(1)"));
    await using proxy = await serviceProxy(tool.data, { absent: [/\/log$/] });
    const { exitCode, stdout } = await tool.call(["run", "talk", "--log", "--json"], proxy.env);
    assert.equal(exitCode, 1);
    const { error, warnings } = JSON.parse(stdout);
    assert.match(error.message, /the last|one/);
    assert.match(warnings[0], /^talk: its log can't be read: /);
  });

  it("says so when the rest of a log doesn't come, though its run has ended", async () => {
    const run = runOnWire({ status: "succeeded", "stopped-at": "2026-03-03T10:00:01Z", steps: [] });
    const entry = { sequence: 1, at: run["created-at"], "step-index": 0, stream: "stdout", text: "one\n" };
    await using service = await LoopbackService.listen(({ path }, response) => {
      if (path === "/api/runs") return sendJson(response, 201, run);
      if (!path.endsWith("/log")) return sendJson(response, 200, run);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`id: 1\nevent: log\ndata: ${JSON.stringify(entry)}\n\n`);
    });
    await using bare = await toolbox();
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
    const { exitCode, stdout, stderr } = await bare.run(["run", "nightly", "--log"], env);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^one$/m);
    assert.match(
      stderr,
      /warning: nightly: the rest of its log did not come in time: `pipeline runs log run_1`/,
    );
  });

  const lines = 20_000;
  const much = `process.stdout.write("${"x".repeat(59)}\\n".repeat(${lines}));`;
  for (const [exitCode, code] of [
    [0, much],
    [1, `${much} process.exitCode = 1;`],
    [130, `${much} ${untilCancelled}`],
  ] as const) {
    itOn("posix", `loses nothing to a slow reader (exit code ${exitCode})`, async () => {
      await tool.write("much", programPipeline(code));
      const following = tool.spawn(["run", "much", "--log"]);
      let text = "";
      let isInterrupted = false;
      for await (const chunk of following.stdout) {
        await nextTurn();
        text += chunk;
        if (exitCode === 130 && !isInterrupted && text.length > 60 * (lines - 10)) {
          isInterrupted = following.kill("SIGINT");
        }
      }
      assert.equal((await following).exitCode, exitCode);
      assert.equal(text.split("\n").filter((line) => line === "x".repeat(59)).length, lines);
      assert.match(text.slice(-100), /run_\w+ much \w+\n$/);
    });
  }
});
