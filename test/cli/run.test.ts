import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive } from "../isAlive.ts";
import { fillDay } from "../service/fillDay.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../service/startedService.ts";
import { toolbox, written } from "./toolbox.ts";

describe("pipeline run", () => {
  it("starts this machine's own service by itself, and follows the run to its end", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline("console.log('hello')"));
    const { exitCode, stdout, stderr } = await tool.run(["run", "hello"]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^run_\w+ hello succeeded$/);
    assert.match(stderr, /✓ only/);
    assert.match((await tool.run(["org"])).stdout, /^1 of 50 runs used today\./m);
  });

  it("finds the project upward from the working folder", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline("require('node:fs').writeFileSync('where', process.cwd())"));
    const { exitCode } = await tool.run(["run", "hello"]);
    assert.equal(exitCode, 0);
    assert.match(await readFile(join(tool.project, "where"), "utf8"), /pipeline-runs-test-\w+$/);
  });

  it("ends with 1 and says why when the run fails", async () => {
    await using tool = await toolbox();
    await tool.write("broken", programPipeline("console.log('the disk is on fire'); process.exit(7)"));
    const plain = await tool.run(["run", "broken"]);
    assert.equal(plain.exitCode, 1);
    assert.match(plain.stderr, /✗ only/);
    assert.match(plain.stderr, /7[\s\S]*the disk is on fire/);
    const json = await tool.run(["run", "broken", "--json"]);
    assert.equal(json.exitCode, 1);
    const told = JSON.parse(json.stdout);
    assert.equal(told.ok, false);
    assert.equal(told.runs[0].status, "failed");
  });

  it("returns once started with --detach, and prints one object with --json", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    const { exitCode, stdout } = await tool.run(["run", "long", "--detach", "--json"]);
    assert.equal(exitCode, 0);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, true);
    assert.equal(told.command, "run");
    assert.equal(told.runs[0].status, "running");
    assert.deepEqual(told.warnings, []);
  });

  it("waits for the place and starts when it is given up", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /waiting up to 120 s/);
    await tool.run(["runs", "cancel", "--mine"]);
    const { exitCode, stdout } = await waiting;
    assert.equal(exitCode, 0);
    assert.match(stdout, /hello succeeded$/);
  });

  it("gives a free org one at a time, with a warning", async () => {
    await using tool = await toolbox();
    await tool.write("one", programPipeline(""));
    await tool.write("two", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.run(["run", "one", "two", "--parallel", "5", "--json"]);
    assert.equal(exitCode, 0);
    assert.match(stderr, /warning: --parallel 5 .*: 1 at the same time/);
    const told = JSON.parse(stdout);
    assert.equal(told.warnings.length, 1);
    assert.deepEqual(
      told.runs.map(({ pipeline, status }: { pipeline: string; status: string }) => `${pipeline} ${status}`),
      ["one succeeded", "two succeeded"],
    );
  });

  it("prints exactly one object and ends with 5 when the day is used up, and still 50 are used", async () => {
    await using tool = await toolbox();
    await tool.write("nightly", programPipeline(""));
    await tool.run(["org"]);
    await fillDay(tool.data, 50);
    for (const flags of [[], ["--json"]]) {
      const { exitCode, stdout } = await tool.run(["run", "nightly", ...flags]);
      assert.equal(exitCode, 5);
      const told = JSON.parse(stdout);
      const seconds = Number(/^retry after (\d+) s$/.exec(told.hints[0].doc)?.[1]);
      assert(seconds > 0 && seconds <= 86_400);
      assert.deepEqual(Object.keys(told), ["ok", "command", "error", "hints", "warnings"]);
      assert.equal(told.ok, false);
      assert.equal(told.command, "run");
      assert.equal(told.error.type, "too-many-runs");
      assert.match(told.error.message, new RegExp(`free-day.*\\b${seconds} s`));
      assert.deepEqual(told.hints, [{ command: "pipeline run nightly", doc: `retry after ${seconds} s` }]);
      assert.deepEqual(told.warnings, []);
    }
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 50);
  });

  it("names the nearest pipeline for a name that doesn't exist", async () => {
    await using tool = await toolbox();
    await tool.write("nightly", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.run(["run", "nightyl"]);
    assert.equal(exitCode, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /no pipeline `nightyl`[\s\S]*Did you mean `nightly`\?/);
  });

  it("tells file, line and column of a broken pipeline file", async () => {
    await using tool = await toolbox();
    await tool.write("broken", "resources:\n  shell: { type: cli }\nsteps:\n  - use: shel\n    run: true\n");
    const { exitCode, stderr } = await tool.run(["run", "broken"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /pipelines\/broken\.yaml:4:\d+: .*shell/);
  });

  it("tells every problem of a broken pipeline file, a line each", async () => {
    await using tool = await toolbox();
    const step = "  - { use: shel, run: a }\n";
    await tool.write("broken", `resources: { shell: { type: cli } }\nsteps:\n${step.repeat(6)}`);
    const problem = "there is no resource `shel`; did you mean `shell`?";
    const lines = [
      "The pipeline file can't be run:",
      ...[3, 4, 5, 6, 7, 8].map((line) => `pipelines/broken.yaml:${line}:12: ${problem}`),
      "Correct the file, then run it again.",
    ];
    assert.equal((await tool.run(["run", "broken"])).stderr, `pipeline: ${lines.join("\n")}`);
    const { error } = JSON.parse((await tool.run(["run", "broken", "--json"])).stdout);
    assert.equal(error.message, lines.join("\n"));
  });

  it("gives up its turn at Ctrl-C while waiting: exit code 130, no run used", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(untilCancelled));
    await tool.write("hello", programPipeline(""));
    await tool.run(["run", "long", "--detach"]);
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /waiting up to 120 s/);
    waiting.kill("SIGINT");
    assert.equal((await waiting).exitCode, 130);
    await tool.run(["runs", "cancel", "--mine"]);
    const org = JSON.parse((await tool.run(["org", "--json"])).stdout);
    assert.equal(org.usage["runs-today"], 1);
  });

  it("cancels its run at Ctrl-C while following, and leaves once the processes are gone", async () => {
    await using tool = await toolbox();
    await tool.write("long", programPipeline(`${writePid} ${untilCancelled}`));
    const following = tool.spawn(["run", "long"]);
    const pid = await writtenPid(join(tool.project, "pid"));
    following.kill("SIGINT");
    const { exitCode, stderr } = await following;
    assert.equal(exitCode, 130);
    assert.match(stderr, /cancelled in/);
    assert(!isAlive(pid));
  });

  it("tells what ran before a fault, and starts nothing after it", async () => {
    await using tool = await toolbox();
    await tool.write("quick", programPipeline(""));
    const { exitCode, stdout } = await tool.run(["run", "quick", "nope", "quick", "--json"]);
    assert.equal(exitCode, 2);
    const told = JSON.parse(stdout);
    assert.equal(told.error.type, "not-found");
    assert.deepEqual(
      told.runs.map(({ status }: { status: string }) => status),
      ["succeeded"],
    );
  });

  it("prints one object for wrong usage too, with --json", async () => {
    await using tool = await toolbox();
    const { exitCode, stdout } = await tool.run(["run", "--json", "--parallel", "many", "x"]);
    assert.equal(exitCode, 2);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, false);
    assert.equal(told.command, "run");
    assert.match(told.error.message, /--parallel/);
  });

  it("runs the pipeline of the folder it stands in, also when another folder has the same name", async () => {
    await using tool = await toolbox();
    const folders = ["one", "two"].map((name) => join(tool.project, name, "app"));
    for (const folder of folders) {
      await mkdir(join(folder, "pipelines"), { recursive: true });
      await writeFile(
        join(folder, "pipelines", "build.yaml"),
        programPipeline("require('node:fs').writeFileSync('ran', '')"),
      );
    }
    for (const folder of [...folders, ...folders]) {
      const { exitCode } = await tool.spawn(["run", "build"], {}, folder);
      assert.equal(exitCode, 0);
      await rm(join(folder, "ran"));
    }
  });
});
