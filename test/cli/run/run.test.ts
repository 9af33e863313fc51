import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { execa } from "execa";
import { LoopbackService, orgOnWire, runOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../../service/startedService.ts";
import { onTerminal } from "../onTerminal.ts";
import { serviceProxy } from "../serviceProxy.ts";
import { servedToolbox, type Toolbox, toolbox, written } from "../toolbox.ts";

describe("pipeline run", () => {
  let tool: Toolbox;
  before(async () => {
    tool = await toolbox();
  });
  after(() => tool[Symbol.asyncDispose]());

  it("starts this machine's own service by itself, and follows the run to its end", async () => {
    await tool.write("hello", programPipeline("console.log('hello')"));
    const { exitCode, stdout, stderr } = await tool.run(["run", "hello"]);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^run_\w+ hello succeeded$/);
    assert.match(stderr, /✓ only/);
    assert.match((await tool.call(["org"])).stdout, /^1 of 50 runs used today\./m);
  });

  it("finds the project upward from the working folder", async () => {
    await tool.write("hello", programPipeline("require('node:fs').writeFileSync('where', process.cwd())"));
    const { exitCode } = await tool.call(["run", "hello"]);
    assert.equal(exitCode, 0);
    assert.match(await readFile(join(tool.project, "where"), "utf8"), /pipeline-runs-test-\w+$/);
  });

  it("ends with 1 and says why when the run fails", async () => {
    await tool.write("broken", programPipeline("console.log('the disk is on fire'); process.exit(7)"));
    const plain = await tool.run(["run", "broken"]);
    assert.equal(plain.exitCode, 1);
    assert.match(plain.stderr, /✗ only/);
    assert.match(plain.stderr, /exited with 7, expected 0:\n +the disk is on fire\n/);
    assert.equal(plain.stderr.split("the disk is on fire").length, 2, "told once");
    assert.match(plain.stderr, /\npipeline: broken failed at step `only`\.$/);
    const quiet = await tool.call(["run", "broken", "--quiet"]);
    const reason = "only: exited with 7, expected 0:\nthe disk is on fire";
    assert.equal(quiet.stderr, `pipeline: broken failed: ${reason}`);
    const json = await tool.call(["run", "broken", "--json"]);
    assert.equal(json.exitCode, 1);
    const told = JSON.parse(json.stdout);
    assert.equal(told.ok, false);
    assert.equal(told.runs[0].status, "failed");
    assert.equal(told.error.message, `broken failed: ${reason}`);
    assert.equal(told.runs[0].reason, reason);
  });

  it("gives a step that the run's end has stopped one sign, also in runs show: as the run ended", async () => {
    await tool.write("slow", programPipeline(`${writePid} ${untilCancelled}`, "1s"));
    const { exitCode, stderr } = await tool.call(["run", "slow"]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^ {2}✗ only \(/m);
    assert.match((await tool.call(["runs", "show"])).stdout, /^ {2}✗ only \(cli\) stopped in /m);
    const pidFile = join(tool.project, "pid");
    await rm(pidFile, { force: true });
    const cancelled = tool.spawn(["run", "slow", "--time-limit", "60"]);
    await writtenPid(pidFile);
    cancelled.kill("SIGINT");
    assert.match((await cancelled).stderr, /^ {2}− only \(/m);
    assert.match((await tool.call(["runs", "show"])).stdout, /^ {2}− only \(cli\) stopped in /m);
    await rm(pidFile);
  });

  itOn("linux", "cancels its run at Ctrl-\\, as at Ctrl-C", async () => {
    const pidFile = join(tool.project, "pid");
    await tool.write("quit", programPipeline(`${writePid} ${untilCancelled}`));
    const running = onTerminal(tool, "run quit");
    const pid = await writtenPid(pidFile);
    running.stdin.write("\x1c");
    const { exitCode, stdout } = await running;
    assert.equal(exitCode, 130, stdout);
    assert.ok(!isAlive(pid));
    await rm(pidFile);
  });

  it("returns once started with --detach, and the next run waits for the slot until it is given up", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    const detached = await tool.call(["run", "long", "--detach", "--json"]);
    assert.equal(detached.exitCode, 0);
    const told = JSON.parse(detached.stdout);
    assert.equal(told.ok, true);
    assert.equal(told.command, "run");
    assert.equal(told.runs[0].status, "running");
    assert.deepEqual(told.warnings, []);
    await tool.write("hello", programPipeline(""));
    const waiting = tool.spawn(["run", "hello"]);
    await written(waiting.stderr, /gives up in 120 s/);
    await tool.call(["runs", "cancel", "--mine"]);
    const { exitCode, stdout } = await waiting;
    assert.equal(exitCode, 0);
    assert.match(stdout, /hello succeeded$/);
  });

  itOn("posix", "goes on behind nohup: a hang-up ends no run whose output goes to a file", async () => {
    const untilGo = "setInterval(() => { if (require('node:fs').existsSync('go')) process.exit(0); }, 20)";
    await tool.write("long", programPipeline(`${writePid} ${untilGo}`));
    const line = 'exec nohup "$0" "$1" run long > nohup.out 2>&1';
    const running = execa("sh", ["-c", line, process.execPath, tool.path], {
      cwd: tool.project,
      env: tool.env,
      reject: false,
      stdin: "ignore",
    });
    await writtenPid(join(tool.project, "pid"));
    running.kill("SIGHUP");
    await tool.call(["org"]);
    await writeFile(join(tool.project, "go"), "");
    assert.equal((await running).exitCode, 0);
  });

  it("names the nearest pipeline for a name that doesn't exist", async () => {
    await tool.write("nightly", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.call(["run", "nightyl"]);
    assert.equal(exitCode, 2);
    assert.equal(stdout, "");
    assert.match(stderr, /no pipeline `nightyl`[\s\S]*Did you mean `nightly`\?/);
  });

  it("takes a pipeline's file for its name, by its path or as it stands in pipelines/", async () => {
    await tool.write("hello", programPipeline(""));
    await tool.write("other", `name: renamed\n${programPipeline("")}`);
    const paths = [
      "hello.yaml",
      join("pipelines", "hello.yaml"),
      join(tool.project, "pipelines", "hello.yaml"),
    ];
    const { exitCode, stdout, stderr } = await tool.call(["run", ...paths, "other.yaml"]);
    assert.equal(exitCode, 0, stderr);
    const names = stdout.split("\n").map((line) => /^run_\w+ (.*) succeeded$/.exec(line)?.[1]);
    assert.deepEqual(names, ["hello", "hello", "hello", "renamed"]);
    const inside = await tool.call(["run", "hello.yaml"], {}, join(tool.project, "pipelines"));
    assert.equal(inside.exitCode, 0, inside.stderr);
    const none = await tool.call(["run", "none.yaml"]);
    assert.match(none.stderr, /no pipeline `none\.yaml`/);
    await rm(join(tool.project, "pipelines", "other.yaml"));
  });

  it("says where to go for a file of another project", async () => {
    await tool.write("hello", programPipeline(""));
    const other = join("packages", "a b", "pipelines");
    await mkdir(join(tool.project, other), { recursive: true });
    await writeFile(join(tool.project, other, "web.yaml"), programPipeline(""));
    for (const folder of [tool.project, join(tool.project, "packages")]) {
      const path = join(relative(folder, tool.project), other, "web.yaml");
      const { exitCode, stderr } = await tool.call(["run", path], {}, folder);
      assert.equal(exitCode, 2);
      assert.match(stderr, /web\.yaml is a file of another project, so none was started\./);
      assert.match(stderr, /^Go to that project, where its name is `web`: `cd .(packages.)?a b.`\.$/m);
    }
    await rm(join(tool.project, "packages"), { recursive: true });
  });

  it("says where the pipelines are, outside of a project, and how to make the first", async () => {
    await using box = await servedToolbox();
    const outside = (folder: string, ...args: string[]) => box.call(["run", ...args], {}, folder);
    const none = "pipeline: There is no pipelines/<name>.yaml here or above.";
    for (const args of [["helo"], ["helo", "hello"], []]) {
      const { exitCode, stdout, stderr } = await outside(box.project, ...args);
      assert.deepEqual([exitCode, stdout], [2, ""]);
      const [first, , ...file] = stderr.split("\n");
      assert.equal(first, none);
      await mkdir(join(box.project, "made", "pipelines"), { recursive: true });
      await writeFile(join(box.project, "made", "pipelines", "hello.yaml"), file.join("\n"));
      assert.equal(
        (await outside(join(box.project, "made"), "hello")).exitCode,
        0,
        "the file that it shows runs",
      );
      await rm(join(box.project, "made"), { recursive: true });
    }
    await mkdir(join(box.project, "my samples", "pipelines"), { recursive: true });
    await writeFile(join(box.project, "my samples", "pipelines", "hello.yaml"), programPipeline(""));
    for (const args of [["helo"], ["helo", "hello"], []]) {
      const { exitCode, stderr } = await outside(box.project, ...args);
      assert.deepEqual([exitCode, stderr], [2, `${none}\nTry \`cd 'my samples'\`.`]);
    }
    assert.equal((await outside(join(box.project, "my samples"), "hello")).exitCode, 0);
    const known = await outside(box.project, "hello");
    assert.equal(known.exitCode, 0, "the service knows it by now");
    assert.match(
      known.stderr,
      /^There is no pipelines\/<name>\.yaml here or above, so this runs hello of my samples\.$/m,
    );
  });

  it("lists the pipelines when none is named", async () => {
    await using box = await servedToolbox();
    for (const name of ["nightly", "hello"]) await box.write(name, programPipeline(""));
    const { exitCode, stdout, stderr } = await box.call(["run"]);
    assert.deepEqual([exitCode, stdout], [2, ""]);
    assert.equal(
      stderr,
      "pipeline: No pipeline is named. There are:\n  hello\n  nightly\n`pipeline run hello` runs the first.",
    );
    const json = await box.call(["run", "--json"]);
    assert.equal(json.exitCode, 2);
    assert.equal(JSON.parse(json.stdout).error.type, "usage");
    await box.call(["run", "hello"]);
    const named = await box.call(["run", "--project", basename(box.project)]);
    assert.deepEqual([named.exitCode, named.stderr], [2, stderr]);
  });

  it("tells file, line and column of a broken pipeline file", async () => {
    await tool.write("broken", "resources:\n  shell: { type: cli }\nsteps:\n  - use: shel\n    run: true\n");
    const { exitCode, stderr } = await tool.call(["run", "broken"]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /pipelines\/broken\.yaml:4:\d+: .*shell/);
  });

  it("tells every problem of a broken pipeline file, a line each", async () => {
    const step = "  - { use: shel, run: a }\n";
    await tool.write("broken", `resources: { shell: { type: cli } }\nsteps:\n${step.repeat(6)}`);
    const problem = "there is no resource `shel`; did you mean `shell`?";
    const lines = [
      "The pipeline file can't be run:",
      ...[3, 4, 5, 6, 7, 8].map((line) => `pipelines/broken.yaml:${line}:12: ${problem}`),
      "Correct the file, then run it again.",
    ];
    assert.equal((await tool.call(["run", "broken"])).stderr, `pipeline: ${lines.join("\n")}`);
    const { error } = JSON.parse((await tool.call(["run", "broken", "--json"])).stdout);
    assert.equal(error.message, lines.join("\n"));
  });

  it("prints one object for wrong usage too, with --json", async () => {
    const { exitCode, stdout } = await tool.call(["run", "--json", "--parallel", "many", "x"]);
    assert.equal(exitCode, 2);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, false);
    assert.equal(told.command, "run");
    assert.match(told.error.message, /--parallel/);
  });

  it("runs the pipeline of the folder it stands in, also when another folder has the same name", async () => {
    const folders = ["one", "two"].map((name) => join(tool.project, name, "app"));
    for (const folder of folders) {
      await mkdir(join(folder, "pipelines"), { recursive: true });
      await writeFile(
        join(folder, "pipelines", "build.yaml"),
        programPipeline("require('node:fs').writeFileSync('ran', '')"),
      );
    }
    for (const folder of [...folders, ...folders]) {
      const { exitCode } = await tool.call(["run", "build"], {}, folder);
      assert.equal(exitCode, 0);
      await rm(join(folder, "ran"));
    }
  });

  it("takes a time limit as a pipeline file writes it, and no longer one than the contract allows", async () => {
    await tool.write("hello", programPipeline(""));
    for (const [written, seconds] of [
      ["90", 90],
      ["90s", 90],
      ["5m", 300],
      ["1h", 3600],
    ] as const) {
      const { stdout } = await tool.call(["run", "hello", "--time-limit", written, "--json"]);
      assert.equal(JSON.parse(stdout).runs[0]["time-limit-seconds"], seconds);
    }
    for (const written of ["0", "2h", "3601", "500ms", "-1", "1.5", "soon", "1e3", ""]) {
      const { exitCode, stderr } = await tool.call(["run", "hello", `--time-limit=${written}`]);
      assert.equal(exitCode, 2, written);
      assert.match(stderr, /--time-limit.*from 1s to 1h/);
    }
  });

  itOn("posix", "says at Ctrl-C what the service says of a run that it can't write the end of", async () => {
    let status = "running";
    const warning = "The disk is full.";
    await using service = await LoopbackService.listen(({ path, method }, response) => {
      if (path === "/api/org") return sendJson(response, 200, orgOnWire);
      if (path === "/api/runs" && method === "POST") return sendJson(response, 201, runOnWire());
      if (path === "/api/runs/run_1") return sendJson(response, 200, runOnWire({ status }));
      if (path !== "/api/runs/run_1/cancel") return sendError(response, 404, "not-found", "…");
      status = "cancelled";
      sendJson(response, 200, { "run-id": "run_1", status: "cancelling", warning });
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: "plr_test" };
    const following = tool.spawn(["run", "nightly"], env);
    await written(following.stderr, /started/);
    following.kill("SIGINT");
    const { exitCode, stderr } = await following;
    assert.equal(exitCode, 130);
    assert.match(stderr, /^nightly: The disk is full\.$/m);
  });

  it("names a run that it lost sight of, and how to look: exit code 4", async () => {
    await tool.write("long", programPipeline(untilCancelled));
    await using proxy = await serviceProxy(tool.data);
    const following = tool.spawn(["run", "long", "--json"], proxy.env);
    await written(following.stderr, /started/);
    proxy.goAway();
    const { exitCode, stdout } = await following;
    assert.equal(exitCode, 4);
    const { error, runs } = JSON.parse(stdout);
    assert.equal(error.type, "out-of-reach");
    assert(
      error.message.includes(
        `long may still be running: \`pipeline runs show ${runs[0]["run-id"]}\` shows it.`,
      ),
    );
  });
});
