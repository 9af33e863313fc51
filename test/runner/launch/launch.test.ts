// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { endLeftovers } from "../../../src/runner/processes/endProcesses.ts";
import { processTable } from "../../../src/runner/processes/systemProcesses.ts";
import { stepEnvironment } from "../../../src/runner/step/stepEnvironment.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { runnerPath } from "../../service/programs.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { type Beacon, holdBeacon, makeBeacon } from "../beacon.ts";
import { launchTestRun, newRunId, pipelineOf, shellPipeline } from "./launchTestRun.ts";

const processes = processTable(process.platform);

describe("a run in a process of its own", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("succeeds when every step does, and tells of each as it starts and stops", async () => {
    const { job, told } = launchTestRun(folder.path, shellPipeline("echo one", "echo two"));
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    assert.deepEqual(
      told.map(({ index, step }) => [index, step.name, step.type, step.status]),
      [
        [0, "echo one", "cli", "running"],
        [0, "echo one", "cli", "succeeded"],
        [1, "echo two", "cli", "running"],
        [1, "echo two", "cli", "succeeded"],
      ],
    );
    for (const { step } of told) assert.ok(!Number.isNaN(Date.parse(step.startedAt ?? "")));
  });

  it("fails with the first step that fails, and starts none after it", async () => {
    const { job, told } = launchTestRun(
      folder.path,
      shellPipeline("echo oh no; exit 3", `touch '${folder.path}/after'`),
    );
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: "echo oh no; exit 3: exited with 3, expected 0:\noh no",
    });
    assert.equal(told[1]?.step.message, "exited with 3, expected 0:\noh no");
    assert.deepEqual([told[2]?.index, told[2]?.step.status], [1, "not-reached"]);
    assert.equal(existsSync(join(folder.path, "after")), false);
  });

  it("says where a refused connection follows a background program that has ended", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert(typeof address === "object" && address !== null);
    const host = `127.0.0.1:${address.port}`;
    server.close();
    await once(server, "close");
    const messageAfter = async (run: string) => {
      const pipeline = pipelineOf({
        resources: { sh: { type: "cli" }, shop: { type: "http", "base-url": `http://${host}` } },
        steps: [
          { name: "start the shop", use: "sh", run },
          { name: "look", use: "shop", get: "/" },
        ],
      });
      const { job, told } = launchTestRun(folder.path, pipeline);
      await job.ended;
      return told.at(-1)?.step.message;
    };
    const refused = `nothing listens at ${host} (connection refused)`;
    assert.equal(
      await messageAfter("sh -c 'exit 1' & sleep 0.3"),
      `${refused}\nwhat the step \`start the shop\` started in the background has ended; that step's log has what it wrote`,
    );
    assert.equal(await messageAfter("sleep 30 & true"), refused);
    assert.equal(await messageAfter("true"), refused);
  });

  it("fails in plain words when the project's folder is gone", async () => {
    const gone = join(folder.path, "gone");
    const { job } = launchTestRun(gone, shellPipeline("true"));
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: `true: the project's folder, ${gone}, doesn't exist`,
    });
  });

  it("gets none of the service's own secrets and settings, but its run's id", async () => {
    const { job, runId } = launchTestRun(folder.path, shellPipeline("env; exit 1"), {
      env: {
        PATH: process.env["PATH"],
        PIPELINE_API_KEY: "key",
        PIPELINE_BASE_URL: "url",
        ELECTRON_RUN_AS_NODE: "1",
        VSCODE_PID: "1",
        MINE: "kept",
      },
    });
    const end = await job.ended;
    assert.ok(end.kind === "failed");
    const names = [...end.message.matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    for (const name of ["PIPELINE_API_KEY", "PIPELINE_BASE_URL", "ELECTRON_RUN_AS_NODE", "VSCODE_PID"]) {
      assert.ok(!names.includes(name), name);
    }
    assert.match(end.message, /^MINE=kept$/m);
    assert.match(end.message, new RegExp(`^PIPELINE_RUN_ID=${runId}$`, "m"));
  });

  it("never shows the value of a variable that the file refers to", async () => {
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [
        {
          name: "leak",
          use: "sh",
          run: 'echo "${{ env.TOKEN }}"; printf sec; echo ret-value; exit 1',
        },
      ],
    });
    const { job, told } = launchTestRun(folder.path, pipeline, {
      env: { PATH: process.env["PATH"], TOKEN: "secret-value" },
    });
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: "leak: exited with 1, expected 0:\n***\n***",
    });
    assert.ok(!JSON.stringify(told).includes("secret-value"));
  });

  it("shows the value of one that the file says is no secret, and fills each in wherever a text stands", async () => {
    const seen: string[] = [];
    const server = createHttpServer((request, response) => {
      request.setEncoding("utf8").on("data", (piece: string) => seen.push(piece));
      request.on("end", () => response.end(`{ "at": ${JSON.stringify(request.url)} }`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const env = {
      PATH: process.env["PATH"],
      PORT: String(port),
      WHO: "lamp & c#/1",
      STAGE: "prod",
      UP: "..",
    };
    const pipeline = {
      unmasked: ["PORT", "STAGE"],
      resources: { shop: { type: "http", "base-url": "http://127.0.0.1:${{ env.PORT }}/${{ env.STAGE }}" } },
      steps: [
        {
          use: "shop",
          post: "/of/${{ env.WHO }}?q=${{ env.WHO }}&limit=5",
          json: { "${{ env.WHO }}": "$${{ env.WHO }}" },
          expect: { json: { at: "/prod/of/lamp%20&%20c%23%2F1?q=lamp%20%26%20c%23%2F1&limit=5" } },
        },
        { name: "up", use: "shop", get: "/of/${{ env.UP }}/all" },
      ],
    };
    try {
      const { job, outputs } = launchTestRun(folder.path, pipelineOf(pipeline), { env });
      assert.deepEqual(await job.ended, {
        kind: "failed",
        message:
          "up: with the value of `UP` a part of the address is `.` or `..`, which would make another path of it",
      });
      assert.deepEqual(seen, ['{"lamp & c#/1":"${{ env.WHO }}"}']);
      assert.match(JSON.stringify(outputs), new RegExp(`POST http://127.0.0.1:${port}/prod/of/\\*\\*\\*`));
    } finally {
      server.close();
    }
  });

  it("never shows it encoded or escaped either: in the log, the step's message and the run's reason", async () => {
    const secret = 'Gr<é>/n_7$key"Q';
    const print = [
      `const secret = process.env.TOKEN;`,
      `const inBase64 = (text) => Buffer.from(text).toString("base64").replaceAll("=", "");`,
      `console.log(inBase64(secret), inBase64(secret + "\\n"), inBase64("user:" + secret));`,
      `console.log(encodeURIComponent(secret).replace(/%../g, (byte) => byte.toLowerCase()));`,
      `console.log(JSON.stringify(secret).replace("/", "\\\\/").replace("<", "\\\\u003c").replace("é", "\\\\u00e9"));`,
      `process.exit(1);`,
    ].join("\n");
    const { job, told, outputs } = launchTestRun(
      folder.path,
      pipelineOf({
        resources: { sh: { type: "cli", env: { TOKEN: "${{ env.TOKEN }}" } } },
        steps: [{ name: "leak", use: "sh", run: [process.execPath, "-e", print] }],
      }),
      { env: { PATH: process.env["PATH"], TOKEN: secret } },
    );
    const printed = '*** ***o dXNlcjp***\n***\n"***"';
    const message = `exited with 1, expected 0:\n${printed}`;
    assert.deepEqual(await job.ended, { kind: "failed", message: `leak: ${message}` });
    assert.equal(told.at(-1)?.step.message, message);
    const log = outputs.filter(({ stream }) => stream === "stdout").map(({ text }) => text);
    assert.equal(log.join(""), `${printed}\n`);
  });

  it("fails the step that needs a variable which isn't set", async () => {
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" } },
      steps: [
        { name: "fine", use: "sh", run: "true" },
        { name: "needy", use: "sh", run: "echo ${{ env.PIPELINE_TEST_UNSET }}" },
      ],
    });
    const { job } = launchTestRun(folder.path, pipeline);
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message:
        "needy: the environment variable `PIPELINE_TEST_UNSET` isn't set where the service was started, and the pipeline names no `env-file`",
    });
  });

  it("keeps a server that a step started in the background for the steps that follow, and ends it with the run", async () => {
    const port = await freePort();
    const beacon = makeBeacon(folder.path);
    writeFileSync(
      join(folder.path, "server.mjs"),
      `import { createServer } from "node:http";
       import { appendFileSync } from "node:fs";
       process.on("SIGTERM", () => {});
       createServer((request, response) => response.end('{"ok":true}')).listen(${port}, "127.0.0.1", () => {
         console.log("listening");
         appendFileSync(process.argv[2], "");
       });`,
    );
    const ready = makeBeacon(folder.path, "ready");
    const pipeline = pipelineOf({
      resources: { sh: { type: "cli" }, shop: { type: "http", "base-url": `http://127.0.0.1:${port}` } },
      steps: [
        {
          use: "sh",
          run: `${holdBeacon(beacon)}\nnode server.mjs '${ready.path}' &\necho $! >&9\necho > /dev/null`,
        },
        {
          use: "sh",
          run: `while ! node -e 'fetch("http://127.0.0.1:${port}").then(() => process.exit(0), () => process.exit(1))'; do :; done`,
        },
        { use: "shop", get: "/", expect: { json: { ok: true } } },
      ],
    });
    const { job } = launchTestRun(folder.path, pipeline, { graceMilliseconds: 100 });
    assert.deepEqual(await job.ended, { kind: "succeeded" });
    const pids = await beacon.pids(2);
    assert.deepEqual(pids.filter(isAlive), []);
    await beacon.dark;
  });

  it("when stopped ends a program that ignores the polite signal, after the grace time", async () => {
    const beacon = makeBeacon(folder.path);
    const script = `trap '' TERM\n${holdBeacon(beacon)}\nwhile :; do sleep 1; done`;
    const { job, told } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 50 });
    const [pid = 0] = await beacon.pids(1);
    assert.ok(isAlive(pid));
    job.stop();
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.equal(isAlive(pid), false);
    assert.equal(isAlive(job.pid ?? 0), false);
    await beacon.dark;
    assert.equal(told.at(-1)?.step.status, "stopped");
    assert.ok(told.at(-1)?.step.stoppedAt);
  });

  it("when stopped gives its programs the time to end by themselves", async () => {
    const beacon = makeBeacon(folder.path);
    const script = `trap 'echo tidy > tidy; exit 0' TERM\n${holdBeacon(beacon)}\nwhile :; do sleep 0.05; done`;
    const { job } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 30_000 });
    await beacon.pids(1);
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.ok(existsSync(join(folder.path, "tidy")));
  });

  itOn("linux", "when stopped ends what left its process group and its parent", async () => {
    const beacon = makeBeacon(folder.path);
    const hidden = `trap '' TERM; ${holdBeacon(beacon)}; sleep 1000`.replaceAll("'", `'\\''`);
    const script = `(setsid setsid sh -c '${hidden}' &)\n${holdBeacon(beacon)}\nsleep 1000`;
    const { job } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 50 });
    const pids = await beacon.pids(2);
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.deepEqual(pids.filter(isAlive), []);
    await beacon.dark;
  });

  describe("ends what cleared its environment", () => {
    /** A program for `sh` that ignores the polite signal, to be put between single quotes. */
    const hidden = (beacon: Beacon): string =>
      `trap "" TERM; ${holdBeacon(beacon)}; sleep 1000`.replaceAll("'", `'\\''`);
    const background = (beacon: Beacon): string =>
      `env -i sh -c '${hidden(beacon)}' &\n(env -i sh -c '${hidden(beacon)}' &)`;

    itOn("linux", "in the background of a step that is over", async () => {
      const beacon = makeBeacon(folder.path);
      const { job } = launchTestRun(folder.path, shellPipeline(background(beacon), "sleep 1000"), {
        graceMilliseconds: 50,
      });
      const pids = await beacon.pids(2);
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      assert.deepEqual(pids.filter(isAlive), []);
      await beacon.dark;
    });

    itOn("linux", "also when its runner is killed", async () => {
      const beacon = makeBeacon(folder.path);
      const second = Promise.withResolvers<void>();
      const { job } = launchTestRun(folder.path, shellPipeline(background(beacon), "sleep 1000"), {
        graceMilliseconds: 50,
        onStep: (_, index) => {
          if (index === 1) second.resolve();
        },
      });
      const pids = await beacon.pids(2);
      // By then the runner has told what its first step began; one killed in the moment between can't have.
      await second.promise;
      process.kill(job.pid ?? 0, "SIGKILL");
      assert.equal((await job.ended).kind, "died");
      assert.deepEqual(pids.filter(isAlive), []);
      await beacon.dark;
    });

    itOn("linux", "and left its group and session, when its parent goes before it", async () => {
      const beacon = makeBeacon(folder.path);
      const script = `env -i setsid sh -c '${hidden(beacon)}' &\nwait`;
      const { job } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 50 });
      const pids = await beacon.pids(1);
      job.stop();
      assert.deepEqual(await job.ended, { kind: "stopped" });
      assert.deepEqual(pids.filter(isAlive), []);
      await beacon.dark;
    });
  });

  it("when stopped at once ends without a trace", async () => {
    const { job } = launchTestRun(folder.path, shellPipeline("sleep 1000"));
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.equal(isAlive(job.pid ?? 0), false);
  });

  it("stays what it was when it is stopped after its end", async () => {
    const { job } = launchTestRun(folder.path, shellPipeline("true"));
    const end = await job.ended;
    job.stop();
    assert.deepEqual([end, await job.ended], [{ kind: "succeeded" }, { kind: "succeeded" }]);
  });

  it("isn't ended by a script that signals its own process group", async () => {
    const { job } = launchTestRun(folder.path, shellPipeline("kill -KILL 0"));
    assert.deepEqual(await job.ended, {
      kind: "failed",
      message: "kill -KILL 0: was ended by SIGKILL; it printed nothing",
    });
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`leaves no process behind when its runner is ended by ${signal}`, async () => {
      const beacon = makeBeacon(folder.path);
      const script = `trap '' TERM\n${holdBeacon(beacon)}\nsleep 1000 & sleep 1000`;
      const { job, told } = launchTestRun(folder.path, shellPipeline(script), { graceMilliseconds: 50 });
      const [pid = 0] = await beacon.pids(1);
      process.kill(job.pid ?? 0, signal);
      assert.deepEqual(await job.ended, {
        kind: "died",
        message: `the runner was ended by ${signal} before the run was over`,
      });
      assert.equal(isAlive(pid), false);
      await beacon.dark;
      assert.equal(told.at(-1)?.step.status, "lost");
    });
  }

  it("ends although its runner hangs", async () => {
    const beacon = makeBeacon(folder.path);
    const { job } = launchTestRun(folder.path, shellPipeline(`${holdBeacon(beacon)}\nsleep 1000`), {
      graceMilliseconds: 0,
    });
    const [pid = 0] = await beacon.pids(1);
    process.kill(job.pid ?? 0, "SIGSTOP");
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.deepEqual([pid, job.pid ?? 0].filter(isAlive), []);
  });

  it("ends although its runner does nothing any more and ignores the polite signal", async () => {
    const stuck = join(folder.path, "stuck.mjs");
    writeFileSync(
      stuck,
      `process.on("SIGTERM", () => {});
       process.stdin.once("data", () => {
         console.log(JSON.stringify({ kind: "step", index: 0, status: "running" }));
         process.stdout.write("", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
       });`,
    );
    const began = Promise.withResolvers<void>();
    const { job } = launchTestRun(folder.path, shellPipeline("true"), {
      runnerPath: stuck,
      graceMilliseconds: 50,
      onStep: () => began.resolve(),
    });
    await began.promise;
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.equal(isAlive(job.pid ?? 0), false);
  });

  it("whose runner is blocked is killed once the grace time is over, without a second one for its programs", async () => {
    const beacon = makeBeacon(folder.path);
    const blocked = join(folder.path, "blocked.mjs");
    const program = `trap 'touch asked' TERM\n${holdBeacon(beacon)}\nwhile :; do sleep 0.01; done`;
    writeFileSync(
      blocked,
      `import { spawn } from "node:child_process";
       process.stdin.once("data", () => {
         const { pid } = spawn("/bin/sh", ["-c", ${JSON.stringify(program)}], { cwd: ${JSON.stringify(folder.path)}, detached: true });
         process.stdout.write(JSON.stringify({ kind: "spawned", pid }) + "\\n", () => /^(a+)+$/.test("a".repeat(5000) + "!"));
       });`,
    );
    const { job } = launchTestRun(folder.path, shellPipeline("true"), {
      runnerPath: blocked,
      graceMilliseconds: 500,
    });
    const [pid = 0] = await beacon.pids(1);
    job.stop();
    assert.deepEqual(await job.ended, { kind: "stopped" });
    assert.deepEqual([pid, job.pid ?? 0].filter(isAlive), []);
    assert.equal(existsSync(join(folder.path, "asked")), false);
    await beacon.dark;
  });

  it("ends, tree and all, when its service is gone", async () => {
    const beacon = makeBeacon(folder.path);
    const runId = newRunId();
    const runner = spawn(process.execPath, [runnerPath], {
      env: stepEnvironment(process.env, { runId }),
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
    });
    const exited = once(runner, "exit");
    const pipeline = shellPipeline(`trap '' TERM\n${holdBeacon(beacon)}\nsleep 1000 &\nwait`);
    runner.stdin.write(
      `${JSON.stringify({ runId, root: folder.path, pipeline, artifactsFolder: folder.path, graceMilliseconds: 50 })}\n`,
    );
    const [pid = 0] = await beacon.pids(1);
    runner.stdin.destroy();
    await beacon.dark;
    assert.deepEqual(await exited, [null, "SIGKILL"]);
    assert.equal(isAlive(pid), false);
  });

  it("leaves nothing that a service's start doesn't end, when service and runner are killed together", async () => {
    const beacon = makeBeacon(folder.path);
    const runId = newRunId();
    const runner = spawn(process.execPath, [runnerPath], {
      env: stepEnvironment(process.env, { runId }),
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
    });
    const exited = once(runner, "exit");
    const pipeline = shellPipeline(`trap '' TERM\n${holdBeacon(beacon)}\nsleep 1000`);
    runner.stdin.write(
      `${JSON.stringify({ runId, root: folder.path, pipeline, artifactsFolder: folder.path, graceMilliseconds: 50 })}\n`,
    );
    const [pid = 0] = await beacon.pids(1);
    const birth = (await processes.birthOf(runner.pid ?? 0)) ?? "";
    runner.kill("SIGKILL");
    await exited;
    assert.ok(isAlive(pid));
    const left = { runId, runner: { pid: runner.pid ?? 0, birth } };
    await endLeftovers(left, { processes, graceMilliseconds: 50 });
    assert.equal(isAlive(pid), false);
    await beacon.dark;
    await endLeftovers(left, { processes, graceMilliseconds: 50 });
  });

  it("doesn't touch the processes of another run", async () => {
    const beacon = makeBeacon(folder.path);
    const other = launchTestRun(folder.path, shellPipeline(`${holdBeacon(beacon)}\nsleep 1000`));
    const [pid = 0] = await beacon.pids(1);
    const { job } = launchTestRun(folder.path, shellPipeline("true"));
    await job.ended;
    await endLeftovers({ runId: newRunId(), runner: undefined }, { processes, graceMilliseconds: 0 });
    assert.ok(isAlive(pid));
    other.job.stop();
    await other.job.ended;
  });

  it("that can't be started died, and says why", async () => {
    const { job } = launchTestRun(folder.path, shellPipeline("true"), {
      execPath: join(folder.path, "none"),
    });
    const end = await job.ended;
    assert.equal(end.kind, "died");
    assert.match(end.kind === "died" ? end.message : "", /^the runner can't be started: .*ENOENT/);
    assert.equal(job.pid, undefined);
  });

  it("that can't be started because the service has too many files open died, and says so", async () => {
    const module = (name: string) => JSON.stringify(new URL(`../../../src/${name}`, import.meta.url).href);
    const script = `
      import { closeSync, openSync } from "node:fs";
      import { systemClock } from ${module("machine/clock.ts")};
      import { launchRunner } from ${module("runner/launch/launch.ts")};
      import { ReadyRunner } from ${module("runner/launch/readyRunner.ts")};
      const runners = new ReadyRunner({ execPath: process.execPath, runnerPath: "/none.js", env: {} }, systemClock);
      const files = [];
      try { for (;;) files.push(openSync("/dev/null")); } catch {}
      const job = launchRunner(
        { runId: "run_x", root: "/", pipeline: { steps: [] } },
        { runners, graceMilliseconds: 0, onStep() {} },
      );
      for (const file of files) closeSync(file);
      console.log(JSON.stringify({ end: await job.ended, hasPid: job.pid !== undefined }));
      job.stop();`;
    const service = spawn(
      "/bin/sh",
      ["-c", 'ulimit -n 128; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    const [said, [code]] = await Promise.all([text(service.stdout), once(service, "exit")]);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(said), {
      end: {
        kind: "died",
        message: "the runner can't be started: too many files are open in one program",
      },
      hasPid: false,
    });
  });

  it("that can't be started at all died, and says why", async () => {
    const { job } = launchTestRun(folder.path, shellPipeline("true"), { execPath: "no\0program" });
    const end = await job.ended;
    assert.match(end.kind === "died" ? end.message : "", /^the runner can't be started: /);
    job.stop();
  });

  it("whose runner's program is broken died, and says how", async () => {
    const broken = join(folder.path, "broken.mjs");
    writeFileSync(broken, 'throw new Error("no good");');
    const { job } = launchTestRun(folder.path, shellPipeline("true"), { runnerPath: broken });
    const end = await job.ended;
    assert.deepEqual(end, {
      kind: "died",
      message: "the runner exited with 1 before the run was over: Error: no good",
    });
  });

  it("died where the system never tells which processes it has", async () => {
    const fail = () => Promise.reject(new Error("no /proc here"));
    const unlisted = { canTerminate: true, processesOf: fail, birthOf: fail };
    const { job } = launchTestRun(folder.path, shellPipeline("true"), {
      processes: unlisted,
      listingPatienceMilliseconds: 0,
    });
    assert.deepEqual(await job.ended, {
      kind: "died",
      message: "the run's processes can't be listed: no /proc here",
    });
  });

  it("whose runner talks nonsense died", async () => {
    const odd = join(folder.path, "odd.mjs");
    writeFileSync(odd, 'console.log("hello"); process.stdin.resume();');
    const { job } = launchTestRun(folder.path, shellPipeline("true"), { runnerPath: odd });
    assert.deepEqual(await job.ended, {
      kind: "died",
      message: "the runner sent something that can't be read",
    });
  });
});

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
