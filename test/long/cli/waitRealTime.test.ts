import assert from "node:assert/strict";
import { serviceProxy } from "../../cli/serviceProxy.ts";
import { toolbox, written } from "../../cli/toolbox.ts";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";

/** The one test that takes the contract's 120 s: the two orgs wait side by side, and wait only. */
describe("the wait for a slot, in real time", () => {
  it("ends by itself after 120 s, and takes a slot that comes free after a minute at once", async function () {
    this.timeout(200_000);
    const [refusal, start] = await Promise.all([waitInVain(), waitForAMinute()]);

    console.log(
      `      refused after ${refusal.seconds.toFixed(1)} s, by ${refusal.requests.length} requests; ` +
        `a slot that came free after ${start.secondsWaited} s was taken within ${start.milliseconds} ms`,
    );
    assert(refusal.seconds >= 120, `${refusal.seconds} s`);
    const requests = refusal.requests.map((request) => request.replace(/(projects\/|\?).*/, "$1…")).sort();
    // The org says whose key is the reader's own, where the run that holds the slot has a name of one.
    const asked = ["GET /api/org", "GET /api/queue", "GET /api/runs?…", "POST /api/runs", "POST /api/runs"];
    assert.deepEqual(requests, [...asked, "PUT /api/projects/…"]);
  });
});

/** Waits for a slot that isn't given up, through a proxy that counts the requests. */
async function waitInVain() {
  await using tool = await toolbox();
  await tool.write("long", programPipeline(untilCancelled, "200s"));
  await tool.write("hello", programPipeline(""));
  const [held] = JSON.parse((await tool.run(["run", "long", "--detach", "--json"])).stdout).runs;
  await using proxy = await serviceProxy(tool.data);

  const began = performance.now();
  const { exitCode, stdout, stderr } = await tool.run(["run", "hello"], proxy.env);
  const seconds = (performance.now() - began) / 1000;

  assert.equal(exitCode, 5, stderr);
  assert.deepEqual(JSON.parse(stdout), {
    ok: false,
    command: "run",
    error: {
      type: "too-many-runs",
      message: "Scope org: another run holds the org's slot, and it did not come free in 120 s.",
    },
    hints: [
      {
        command: "pipeline runs cancel --mine",
        doc: "cancels every active run that your API key started, which gives up its slot",
      },
      { command: "pipeline run hello", doc: "retry when the slot is free" },
    ],
    warnings: [],
  });
  const lines = stderr.split("\n");
  assert.match(
    lines[0] ?? "",
    new RegExp(
      `^hello: waiting for long \\(${held["run-id"]}, up to .+ left\\) to finish; gives up in 120 s$`,
    ),
  );
  assert.deepEqual(
    lines.slice(1, -3),
    [90, 60, 30].map((left) => `hello: still waiting; gives up in ${left} s`),
  );
  await tool.run(["runs", "cancel", "--mine"]);
  assert.equal(JSON.parse((await tool.run(["org", "--json"])).stdout).usage["runs-today"], 1);
  return { seconds, requests: proxy.passed };
}

/** Waits for a slot that is given up when half of the wait is over, and keeps its own environment. */
async function waitForAMinute() {
  await using tool = await toolbox();
  await tool.write("long", programPipeline(untilCancelled, "200s"));
  await tool.write(
    "hello",
    'resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: \'[ "$WHO" = "who waits" ]\' }]\n',
  );
  await tool.run(["run", "long", "--detach"], { WHO: "who holds" });
  const waiting = tool.spawn(["run", "hello"], { WHO: "who waits" });
  await written(waiting.stderr, /still waiting; gives up in 60 s/);
  await tool.run(["runs", "cancel", "--mine"]);
  const { exitCode, stderr } = await waiting;
  assert.equal(exitCode, 0, stderr);
  const { runs } = JSON.parse((await tool.run(["runs", "list", "--json"])).stdout);
  assert.deepEqual(
    runs.map(({ pipeline, status }: { pipeline: string; status: string }) => `${pipeline} ${status}`),
    ["hello succeeded", "long cancelled"],
  );
  const milliseconds = Date.parse(runs[0]["created-at"]) - Date.parse(runs[1]["stopped-at"]);
  return { milliseconds, secondsWaited: 60 };
}
