import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { LoopbackService } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { fillDay } from "../../service/fillDay.ts";
import { programPipeline } from "../../service/startedService.ts";
import { serviceProxy } from "../serviceProxy.ts";
import { servedToolbox, toolbox } from "../toolbox.ts";

type Toolbox = Awaited<ReturnType<typeof servedToolbox>>;

/** A toolbox with a pipeline `nightly`, and so many of today's runs used. */
async function usedUp(count: number): Promise<Toolbox> {
  const tool = await servedToolbox();
  await tool.write("nightly", programPipeline("console.log('it ran')"));
  await tool.write("other", programPipeline(""));
  await fillDay(tool.data, count);
  return tool;
}

/** Checks that a text is the refusal object of a used-up day, of exactly the given fields; returns its seconds. */
function checkedDay(stdout: string, commands: readonly string[]): number {
  const told = JSON.parse(stdout);
  const seconds = Number(/in (\d+) s\.$/.exec(told.error.message)?.[1]);
  assert(seconds > 0 && seconds <= 86_400);
  assert.deepEqual(told, {
    ok: false,
    command: "run",
    error: {
      type: "too-many-runs",
      message: `Scope free-day: all of today's runs are used. The count starts again at 00:00 UTC, in ${seconds} s.`,
    },
    hints: commands.map((command) => ({ command, doc: `retry after ${seconds} s` })),
    warnings: [],
  });
  assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
  return seconds;
}

describe("pipeline run, refused by a limit", () => {
  it("prints exactly one object and ends with 5, whatever else is asked for, and uses no run", async () => {
    await using tool = await usedUp(50);
    for (const flags of [[], ["--json"], ["--quiet"], ["--log"], ["--parallel", "3"], ["--detach"]]) {
      const start = flags.length === 0 ? tool.run : tool.call;
      const { exitCode, stdout } = await start(["run", "nightly", ...flags]);
      assert.equal(exitCode, 5);
      checkedDay(stdout, ["pipeline run nightly"]);
    }
    assert.equal(JSON.parse((await tool.call(["org", "--json"])).stdout).usage["runs-today"], 50);
  });

  it("counts the seconds on the service's clock, however wrong its own is", async () => {
    await using tool = await usedUp(50);
    const date = new Date("2031-05-05T22:48:00Z");
    await using proxy = await serviceProxy(tool.data, { date });
    const { stdout } = await tool.run(["run", "nightly"], proxy.env);
    assert.equal(checkedDay(stdout, ["pipeline run nightly"]), 4320);
  });

  it("tells every pipeline that was refused, asks for one of them only, and loses nothing of what ran", async () => {
    await using tool = await usedUp(49);
    await using proxy = await serviceProxy(tool.data);
    for (const flag of ["--quiet", "--log"]) {
      const { exitCode, stdout, stderr } = await tool.call(
        ["run", "nightly", "other", "nightly", "--parallel", "2", flag],
        proxy.env,
      );
      assert.equal(exitCode, 5);
      if (flag === "--quiet") {
        checkedDay(stdout, ["pipeline run other", "pipeline run nightly"]);
        assert.match(stderr, /^nightly succeeded \(run_\w+\)$/m);
        const starts = proxy.passed.filter((line) => line === "POST /api/runs");
        assert.equal(starts.length, 2);
      } else {
        checkedDay(stdout, ["pipeline run nightly", "pipeline run other", "pipeline run nightly"]);
      }
    }
  });

  it("refuses at once a step that would wait for the slot of its own run", async () => {
    await using tool = await servedToolbox();
    await tool.write("inner", programPipeline(""));
    const call = `require('node:child_process').spawnSync(process.execPath, [${JSON.stringify(tool.path)}, 'run', 'inner'], { stdio: 'inherit' })`;
    await tool.write("outer", programPipeline(`process.exit(${call}.status)`));
    const { exitCode, stderr } = await tool.call(["run", "outer"]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /exited with 5, expected 0/);
    const own = /this step's own run, (run_\w+), holds the slot/.exec(stderr)?.[1];
    assert(stderr.includes(`outer: ${own} started`), stderr);
    assert(stderr.includes("Hint: pipeline run inner, once the slot is free"));
    assert(!stderr.includes("--mine"));
  });

  itOn("posix", "hints at commands that a shell takes and that work", async () => {
    await using tool = await toolbox();
    await using service = await LoopbackService.listen(
      (_, response) => void response.writeHead(429).end('{"error":"too-many-runs","scope":"free-day"}'),
    );
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: "plk_some_key" };
    for (const name of ["it's late", "two words", "$(reboot)", "-x"]) {
      const { exitCode, stdout } = await tool.call(["run", "--", name], env);
      assert.equal(exitCode, 5);
      const [{ command }] = JSON.parse(stdout).hints;
      const line = `pipeline() { for word; do printf '%s|' "$word"; done; }; ${command}`;
      const words = execFileSync("sh", ["-c", line], { encoding: "utf8" }).replace("--|", "");
      assert.equal(words, `run|${name}|`);
    }
  });
});
