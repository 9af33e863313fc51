import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { endProcess } from "../../endProcessesOf.ts";
import { itOn } from "../../itOn.ts";
import { CutLine } from "../../service/cutLine.ts";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { onTerminal } from "../onTerminal.ts";
import { type Toolbox, toolbox, written } from "../toolbox.ts";

/** A program that says a line each time it finds a file of the next number, and ends at the one that is asked for. */
function saysOnDemand(count: number): string {
  return `const fs = require("node:fs"); let n = 1; const look = () => {
    if (!fs.existsSync("say-" + n)) return void setTimeout(look, 5);
    console.log("line " + n); n += 1; if (n <= ${count}) look(); }; look();`;
}

describe("pipeline runs log", () => {
  let tool: Toolbox;
  before(async () => {
    tool = await toolbox();
  });
  beforeEach(async () => {
    for (const number of [1, 2, 3]) await rm(join(tool.project, `say-${number}`), { force: true });
  });
  after(() => tool[Symbol.asyncDispose]());

  it("prints what a run wrote without what would drive a terminal, and all of it with --raw", async () => {
    const output = "\u001b]0;title\u0007\u001b[31mred\u001b[0m\nhalf";
    await tool.write("hello", programPipeline(`process.stdout.write(${JSON.stringify(output)})`));
    await tool.call(["run", "hello"]);
    const plain = await tool.run(["runs", "log", "--stream", "stdout"]);
    assert.equal(plain.exitCode, 0);
    assert.equal(plain.stdout, "red\nhalf");
    const colored = await tool.call(["runs", "log", "--stream", "stdout"], { FORCE_COLOR: "1" });
    assert.equal(colored.stdout, "\u001b[31mred\u001b[0m\nhalf");
    assert.equal((await tool.call(["runs", "log", "--raw"])).stdout, output);
    assert.match((await tool.call(["runs", "log"])).stdout, /red\nhalf\nexited with 0 after .*$/);
  });

  it("prints the last lines, one step's, times, or entries", async () => {
    await tool.write("hello", programPipeline("for (let n = 1; n < 6; n++) console.log('line ' + n)"));
    await tool.call(["run", "hello"]);
    const log = async (...args: string[]) =>
      (await tool.call(["runs", "log", "--stream", "stdout", ...args])).stdout;
    assert.equal(await log("--tail", "2"), "line 4\nline 5");
    assert.equal(await log("--tail", "2", "--follow"), "line 4\nline 5");
    assert.equal(await log("--tail", "0"), "");
    assert.equal(await log("--step", "only", "--tail", "1"), "line 5");
    assert.equal(await log("--step", "1", "--tail", "1"), "line 5");
    assert.match(await log("--timestamps", "--tail", "1"), /^\d{4}-\d\d-\d\dT\S+Z line 5$/);
    const lines = (await log("--ndjson")).split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.map(({ text }) => text).join(""), "line 1\nline 2\nline 3\nline 4\nline 5\n");
    const { entries, status } = JSON.parse(await log("--json"));
    assert.deepEqual(entries, lines);
    assert.equal(status, "succeeded");
    const unknown = await tool.call(["runs", "log", "--step", "none"]);
    assert.equal(unknown.exitCode, 2);
    assert.match(unknown.stderr, /no step `none`.\nIts steps are: only\./);
    assert.equal((await tool.call(["runs", "log", "--json", "--ndjson"])).exitCode, 2);
    const none = await tool.call(["runs", "log", "run_none"]);
    assert.deepEqual([none.exitCode, none.stdout], [2, ""]);
  });

  it("prints the lines that a text or a pattern finds, of one run", async () => {
    await tool.write(
      "found",
      programPipeline(
        "for (const n of [1, 2, 3]) console.log('\\u001b[31mli\\u001b[0mne ' + n); console.log('End.')",
      ),
    );
    await tool.call(["run", "found"]);
    const grep = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await tool.call([
        "runs",
        "log",
        "--stream",
        "stdout",
        "--grep",
        ...args,
      ]);
      assert.equal(exitCode, 0, stderr);
      return stdout || stderr;
    };
    assert.equal(await grep("line 2"), "line 2");
    assert.equal(await grep("line", "--tail", "2"), "line 2\nline 3");
    assert.equal(await grep("/^(line [13]|end\\.)$/i"), "line 1\nline 3\nEnd.");
    assert.equal(await grep("line", "--follow"), "line 1\nline 2\nline 3");
    assert.equal(await grep("Line 2"), "No line of the log matches.");
    assert.equal(await grep("."), "End.", "a text is no pattern");
    const coloured = await tool.call(["runs", "log", "--grep", "line 3"], { FORCE_COLOR: "1" });
    assert.equal(coloured.stdout, "\u001b[31mli\u001b[0mne 3");
    for (const [args, message] of [
      [["--grep", "/(/"], /--grep: invalid regular expression/],
      [["--grep", "/a/g"], /takes the flags i and u/],
      [["--grep", ""], /--grep takes a text or a \/pattern\//],
      [["--grep", "a", "--json"], /--grep is for lines; --json has none/],
      [["--grep", "a", "--raw"], /--grep is for lines; --raw has none/],
      [["--last", "3"], /--last counts the runs of a --pipeline/],
      [["--pipeline", "found"], /so it takes --grep/],
      [["--pipeline", "found", "--grep", "a", "run_1"], /exclude each other/],
      [["--pipeline", "found", "--grep", "a", "--follow"], /--follow is for one run/],
      [["--pipeline", "found", "--grep", "a", "--exit-status"], /--exit-status is for one run/],
    ] as const) {
      const { exitCode, stderr, stdout } = await tool.call(["runs", "log", ...args]);
      assert.equal(exitCode, 2, args.join(" "));
      assert.match(stderr + stdout, message);
    }
  });

  it("says at the end why steps failed, where their output doesn't, and finds that too", async () => {
    const failing = "console.log('oops\\nend of it'); process.exit(3)";
    const program = (code: string) => [process.execPath, "-e", code];
    const steps = [
      { name: "going on", use: "sh", run: program("process.exit(2)"), "on-failure": "continue" },
      { name: "failing", id: "it-fails", use: "sh", run: program(failing) },
    ];
    const finallyStep = { name: "cleanup", use: "sh", run: program("console.log('clean')") };
    const pipeline = { resources: { sh: { type: "cli" } }, steps, finally: [finallyStep] };
    await tool.write("failing", JSON.stringify(pipeline));
    await tool.call(["run", "failing"]);
    const log = async (...args: string[]) => (await tool.call(["runs", "log", ...args])).stdout.split("\n");
    const whole = await log();
    assert.deepEqual(whole.slice(-4, -3), ["clean"]);
    assert.match(whole.at(-3) ?? "", /^exited with 0/);
    const whys = [
      "going on failed: exited with 2, expected 0; it printed nothing",
      "failing failed: exited with 3, expected 0",
    ];
    assert.deepEqual(whole.slice(-2), whys);
    assert.equal(whole.filter((line) => line === "oops").length, 1);
    assert.deepEqual(await log("--grep", "expected 0"), whys);
    assert.deepEqual(await log("--grep", "oops", "--stream", "stdout"), ["oops"]);
    assert.deepEqual(await log("--grep", "expected", "--stream", "stdout"), [""]);
    assert.deepEqual(await log("--step", "failing", "--grep", "expected"), whys.slice(1));
    assert.deepEqual(await log("--step", "2", "--tail", "1"), whys.slice(1));
    assert.deepEqual(await log("--pipeline", "failing", "--grep", "/^failing failed: .* 3/"), [
      `${await newest()}\t${whys[1]}`,
    ]);
    assert(!(await log("--json")).join().includes("failed: "), "entries are the log alone");
    async function newest() {
      return JSON.parse((await tool.call(["runs", "list", "--json", "--limit", "1"])).stdout).runs[0][
        "run-id"
      ];
    }
  });

  it("prints a step that its id names, unless a step has it for its name", async () => {
    const steps = ["first", "second", "third"].map((name, index) => ({
      name,
      id: ["one", "third", "three"][index],
      use: "sh",
      run: [process.execPath, "-e", `console.log('of ${name}')`],
    }));
    await tool.write("named", JSON.stringify({ resources: { sh: { type: "cli" } }, steps }));
    await tool.call(["run", "named"]);
    const log = (step: string) => tool.call(["runs", "log", "--stream", "stdout", "--step", step]);
    assert.equal((await log("one")).stdout, "of first");
    assert.equal((await log("third")).stdout, "of third");
    assert.match((await log("two")).stderr, /no step `two`/);
  });

  it("finds lines in the logs of a pipeline's last runs, the newest first, each behind its run's id", async () => {
    const ids: string[] = [];
    for (const number of [1, 2, 3]) {
      await tool.write(
        "nightly",
        programPipeline(`console.log('refused ' + ${number}); console.log('other')`),
      );
      ids.push(JSON.parse((await tool.call(["run", "nightly", "--json"])).stdout).runs[0]["run-id"]);
    }
    const [first, second, third] = ids;
    const search = (...args: string[]) =>
      tool.call(["runs", "log", "--pipeline", "nightly", "--grep", ...args]);
    const all = `${third}\trefused 3\n${second}\trefused 2\n${first}\trefused 1`;
    assert.deepEqual(await search("/^refused/"), { exitCode: 0, stdout: all, stderr: "" });
    assert.equal((await search("/^refused [12]/", "--last", "2")).stdout, `${second}\trefused 2`);
    assert.equal((await search("refused", "--step", "2")).stderr, "No line matches.");
    const none = await tool.call(["runs", "log", "--pipeline", "none", "--grep", "a"]);
    assert.deepEqual([none.exitCode, none.stderr], [0, "There is no run of this pipeline."]);
  });

  itOn("linux", "names the runs above their lines on a terminal", async () => {
    await tool.write("shown", programPipeline("console.log('refused')"));
    await tool.call(["run", "shown"]);
    const { stdout } = await onTerminal(
      tool,
      "runs log --pipeline shown --stream stdout --grep refused",
      {},
      80,
    );
    const lines = stripVTControlCharacters(stdout).trim().split(/\r?\n/);
    assert.match(lines[0] ?? "", /^run_\w{26} ✓ succeeded, (now|\d+ s ago)$/);
    assert.deepEqual(lines.slice(1), ["▸ only", "refused"]);
  });

  it("follows a run to its end, and tells by its exit code how that was where one wants to know", async () => {
    await tool.write("talk", programPipeline(`${saysOnDemand(2)} process.exitCode = 3;`));
    await tool.call(["run", "talk", "--detach"]);
    const following = tool.spawn(["runs", "log", "--follow", "--exit-status", "--stream", "stdout"]);
    await writeFile(join(tool.project, "say-1"), "");
    await written(following.stdout, /line 1\n/);
    const now = await tool.call(["runs", "log", "--stream", "stdout"]);
    assert.equal(now.stdout, "line 1");
    assert.match(now.stderr, /still running; `--follow`/);
    await writeFile(join(tool.project, "say-2"), "");
    const { exitCode, stdout } = await following;
    assert.equal(stdout, "line 1\nline 2");
    assert.equal(exitCode, 1);
  });

  it("loses and repeats no line over a line that is cut and a service that restarts", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await using line = await CutLine.lay(() => service.url);
    await using tool = await toolbox();
    await service.write("talk", programPipeline(saysOnDemand(3)));
    const attempt = await client.start(
      { pipeline: "talk" },
      { waitSeconds: 0, idempotencyKey: "wish" },
      new AbortController().signal,
    );
    const runId = attempt.kind === "started" ? attempt.run.runId : assert.fail("refused");
    const env = { PIPELINE_BASE_URL: line.origin, PIPELINE_API_KEY: secret };
    const following = tool.spawn(["runs", "log", runId, "--follow"], env);
    const say = (number: number) => writeFile(join(service.project.root, `say-${number}`), "");
    await say(1);
    await written(following.stdout, /line 1\n/);
    line.cut();
    await written(following.stderr, /Asking again/);
    const second = written(following.stdout, /line 2\n/);
    await say(2);
    await second;
    await service.restart();
    const { stdout, exitCode } = await following;
    assert.equal(exitCode, 0);
    const lines = stdout.split("\n").filter((text) => text.startsWith("line "));
    assert.deepEqual(lines, ["line 1", "line 2"]);
    assert.equal((await tool.call(["runs", "log", runId], env)).stdout, stdout);
  });

  it("finds this machine's service again when that was killed", async () => {
    await tool.write("talk", programPipeline(saysOnDemand(2)));
    await tool.call(["run", "talk", "--detach"]);
    const following = tool.spawn(["runs", "log", "--follow"]);
    await writeFile(join(tool.project, "say-1"), "");
    await written(following.stdout, /line 1\n/);
    const before = await readConnection(tool.data);
    await endProcess(before?.pid ?? 0, "SIGKILL");
    const { exitCode, stdout } = await following;
    assert.equal(exitCode, 0);
    assert.equal(stdout.match(/line 1/g)?.length, 1);
    assert.match(stdout, /the service died while it ran$/);
  });

  it("ends silently when nobody reads it any more", async () => {
    await tool.write("talk", programPipeline(saysOnDemand(3)));
    await tool.call(["run", "talk", "--detach"]);
    const following = tool.spawn(["runs", "log", "--follow"]);
    await writeFile(join(tool.project, "say-1"), "");
    await written(following.stdout, /line 1\n/);
    following.stdout.destroy();
    await writeFile(join(tool.project, "say-2"), "");
    const { exitCode, stderr } = await following;
    assert.equal(exitCode, 0);
    assert.equal(stderr, "");
    await tool.call(["runs", "cancel", "--mine"]);
  });
});
