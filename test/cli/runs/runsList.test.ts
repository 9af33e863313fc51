import assert from "node:assert/strict";
import { programPipeline, untilCancelled } from "../../service/startedService.ts";
import { servedToolbox, written } from "../toolbox.ts";

describe("pipeline runs list", () => {
  let tool: Awaited<ReturnType<typeof servedToolbox>>;
  before(async () => {
    tool = await servedToolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("lists runs of some statuses, of one pipeline or of one project", async () => {
    await tool.write("good", programPipeline(""));
    await tool.write("bad", programPipeline("process.exit(3)"));
    await tool.call(["run", "good", "bad", "good"]);
    const list = async (...args: string[]) => {
      const { stdout, exitCode } = await tool.call(["runs", "list", ...args]);
      assert.equal(exitCode, 0);
      return stdout.split("\n").map((line) => line.split("\t")[2] ?? "");
    };
    assert.deepEqual(await list("--pipeline", "good"), ["good", "good"]);
    assert.deepEqual(await list("--status", "failed"), ["bad"]);
    assert.deepEqual(await list("--status", "failed,succeeded"), ["good", "bad", "good"]);
    assert.deepEqual(await list("--status", "failed", "--status", "succeeded", "--limit", "2"), [
      "good",
      "bad",
    ]);
    assert.deepEqual(await list("--project", "another"), [""]);
    for (const active of [["--status", "active"], ["--active"], ["--status", "in-work"], ["--in-work"]]) {
      assert.deepEqual(await list("--mine", ...active), [""]);
    }
    const first = JSON.parse((await tool.call(["runs", "list", "--limit", "2", "--json"])).stdout);
    const rest = JSON.parse((await tool.call(["runs", "list", "--json", "--after", first.next])).stdout);
    assert.equal(rest.runs.length, 1);
    assert.equal(rest.next, undefined);
  });

  it("lists runs since a time, and says which times there are", async () => {
    await using tool = await servedToolbox();
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.call(["run", "hello"])).exitCode, 0);
    const count = async (...options: string[]) => {
      const { stdout, stderr } = await tool.call(["runs", "list", ...options]);
      assert.equal(stderr.replace("No runs match.", ""), "", options.join(" "));
      return stdout.split("\n").filter((line) => line.startsWith("run_")).length;
    };
    for (const since of [
      "1h",
      "3d",
      "yesterday",
      "monday",
      "2026-01-31",
      "2026-01-31T14:30:00+01:00",
      "999999999h",
    ]) {
      assert.equal(await count("--since", since), 1, since);
      if (since !== "monday") assert.equal(await count("--until", since), 0, since);
    }
    for (const until of ["today", "9999-12-31", "2999-01-01T00:00"]) {
      assert.equal(await count("--until", until), 1, until);
      assert.equal(await count("--since", "3d", "--until", until), 1, until);
    }
    for (const since of [
      "tomorrow",
      "2026-13-01",
      "2026-02-30",
      "2999-01-01",
      "2026-01-31T24:30",
      "7",
      "-1h",
    ]) {
      const { exitCode, stderr } = await tool.call(["runs", "list", `--since=${since}`]);
      assert.equal(exitCode, 2, since);
      assert.match(stderr, /--since names no time.*\nName one as 3h, 2d, today, yesterday, monday, /);
    }
    for (const line of [["--until=soon"], ["--since=1h", "--until=2h"]]) {
      assert.equal((await tool.call(["runs", "list", ...line])).exitCode, 2, line.join(" "));
    }
  });

  it("says which statuses there are", async () => {
    const { exitCode, stderr } = await tool.call(["runs", "list", "--status", "resting"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /no status `resting`; there are: active, running, .*lost/);
  });

  it("tells each change as a line while it is watched, until Ctrl-C", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    await tool.call(["run", "long", "--detach"]);
    const watching = tool.spawn(["runs", "list", "--watch", "--in-work"]);
    await written(watching.stdout, /\trunning\t/);
    const cancelled = written(watching.stdout, /\tcancelled\t/);
    await tool.call(["runs", "cancel", "--mine"]);
    await cancelled;
    const again = written(watching.stdout, /\trunning\t/);
    await tool.call(["run", "long", "--detach"]);
    await again;
    watching.kill("SIGINT");
    const { exitCode, stderr } = await watching;
    assert.equal(exitCode, 130);
    assert.equal(stderr, "");
    await tool.call(["runs", "cancel", "--mine", "--wait"]);
  });

  it("tells each change as an object with --json, and ends silently when nobody reads it", async () => {
    await tool.write("hello", programPipeline(""));
    await tool.call(["run", "hello"]);
    const watching = tool.spawn(["runs", "list", "--watch", "--json"]);
    await written(watching.stdout, /"succeeded".*\n/);
    watching.stdout.destroy();
    await tool.call(["run", "hello"]);
    const { exitCode, stderr } = await watching;
    assert.equal(exitCode, 0);
    assert.equal(stderr, "");
  });
});

describe("pipeline runs show", () => {
  it("shows a run with its steps and why it failed; the newest when none is named", async () => {
    await using tool = await servedToolbox();
    await tool.write("bad", programPipeline("console.log('about to fail'); process.exit(3)"));
    await tool.call(["run", "bad"]);
    const shown = await tool.run(["runs", "show"]);
    assert.equal(shown.exitCode, 0);
    assert.match(shown.stdout, /bad failed\n/);
    assert.match(shown.stdout, /only \(cli\) failed in \d+(\.\d)? m?s\n +exited with 3.*\n +about to fail/);
    assert.equal(shown.stdout.split("about to fail").length, 2, "told once, under its step");
    const run = JSON.parse((await tool.call(["runs", "show", "--json"])).stdout);
    assert.equal(run.reason, "only: exited with 3, expected 0:\nabout to fail");
    assert.equal(run.command, "runs show");
    assert.equal(run.status, "failed");
    const named = await tool.call(["runs", "show", run["run-id"], "--exit-status"]);
    assert.equal(named.exitCode, 1);
    assert.equal(named.stdout.split("\n")[1]?.split(/ +/)[1], run["run-id"]);
  });

  it("says that there is none", async () => {
    await using tool = await servedToolbox();
    const none = await tool.call(["runs", "show"]);
    assert.equal(none.exitCode, 2);
    assert.match(none.stderr, /has started no run yet/);
    for (const verb of ["show", "log", "cancel"]) {
      const { exitCode, stderr } = await tool.call(["runs", verb, "run_nope"]);
      assert.equal(exitCode, 2, verb);
      assert.match(stderr, /no run `run_nope`/);
    }
  });
});
