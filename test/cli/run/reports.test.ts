import assert from "node:assert/strict";
import { mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LoopbackService, runOnWire, sendJson } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { fillDay } from "../../service/fillDay.ts";
import { programPipeline, untilCancelled, writePid, writtenPid } from "../../service/startedService.ts";
import { servedToolbox } from "../toolbox.ts";

type Toolbox = Awaited<ReturnType<typeof servedToolbox>>;

describe("pipeline run, with a report", () => {
  let tool: Toolbox;
  beforeEach(async () => {
    tool = await servedToolbox();
    await tool.write("good", programPipeline("console.log('all is well')"));
    await tool.write("bad", programPipeline("console.log('the disk is on fire'); process.exit(7)"));
  });
  afterEach(() => tool[Symbol.asyncDispose]());

  const path = (name: string) => join(tool.project, name);
  const read = (name: string) => readFile(path(name), "utf8");
  /** The testcases of a report, each with its end. */
  async function cases(name: string): Promise<string[]> {
    const text = await read(name);
    const all = text.matchAll(/<testcase classname="(.*?)" name="(.*?)".*?>\n(?:<(failure|error|skipped))?/g);
    return [...all].map(([, pipeline, step, end = "passed"]) => `${pipeline} ${step} ${end}`);
  }
  async function runsToday(): Promise<number> {
    return JSON.parse((await tool.call(["org", "--json"])).stdout).usage["runs-today"];
  }

  it("tells each run's steps with their logs, in both files, and prints what it prints without", async () => {
    const { exitCode, stdout } = await tool.call([
      "run",
      "good",
      "bad",
      "--junit",
      "r.xml",
      "--html",
      "r.html",
    ]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /^run_\w+ good succeeded\nrun_\w+ bad failed$/);
    assert.deepEqual(await cases("r.xml"), ["good only passed", "bad only failure"]);
    for (const name of ["r.xml", "r.html"]) {
      for (const text of ["all is well", "the disk is on fire"]) {
        assert((await read(name)).includes(text), `${name}: ${text}`);
      }
    }
    assert.deepEqual((await readdir(tool.project)).sort(), ["pipelines", "r.html", "r.xml"]);
  });

  it("hides in it what the log hides", async () => {
    const program = programPipeline("console.log('it is ' + process.env.TOKEN); process.exit(1)");
    await tool.write("secret", `${program}    env: { TOKEN: "\${{ env.SHOP_TOKEN }}" }\n`);
    const env = { SHOP_TOKEN: "a-long-secret-of-the-shop" };
    await tool.call(["run", "secret", "--junit", "r.xml", "--html", "r.html"], env);
    for (const name of ["r.xml", "r.html"]) {
      assert.match(await read(name), /it is \*\*\*/);
      assert(!(await read(name)).includes(env.SHOP_TOKEN), name);
    }
  });

  it("is written too where a limit refused the start, and where it can't be started", async () => {
    const unknown = await tool.call(["run", "good", "god", "--junit", "r.xml"]);
    assert.equal(unknown.exitCode, 2);
    assert.deepEqual(await cases("r.xml"), ["good (the run) error", "god (the run) error"]);
    assert.match(await read("r.xml"), /There is no pipeline `god`/);
    const wrong = await tool.call(["run", "good", "--input", "x=1", "--junit", "r.xml"]);
    assert.equal(wrong.exitCode, 2);
    assert.deepEqual(await cases("r.xml"), ["good (the run) error"]);
    await fillDay(tool.data, 49);
    const refused = await tool.call(["run", "good", "bad", "--junit", "r.xml"]);
    assert.equal(refused.exitCode, 5);
    assert.deepEqual(await cases("r.xml"), ["good only passed", "bad (the run) error"]);
    assert.match(await read("r.xml"), /bad was not started: today's runs are used up/);
  });

  it("is written too where the service is out of reach", async () => {
    const nowhere = { PIPELINE_BASE_URL: "http://127.0.0.1:9", PIPELINE_API_KEY: "plk_some_key" };
    const { exitCode } = await tool.call(["run", "good", "--junit", "r.xml"], nowhere);
    assert.equal(exitCode, 4);
    assert.deepEqual(await cases("r.xml"), ["good (the run) error"]);
  });

  it("is not green where the service doesn't report how the run ends, and does without a log it hasn't", async () => {
    await using service = await LoopbackService.listen(({ method, path }, response) => {
      if (method === "POST" && path === "/api/runs") return sendJson(response, 201, runOnWire());
      return response.writeHead(404).end();
    });
    const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: "plk_some_key" };
    const { exitCode, stderr } = await tool.call(["run", "good", "--junit", "r.xml"], env);
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(await cases("r.xml"), ["nightly (the run) error"]);
    assert.match(await read("r.xml"), /The service doesn't report how the run ends/);
    assert.match(stderr, /warning: nightly: the report is without the log, which can't be read/);
  });

  itOn("posix", "is written when Ctrl-C has cancelled the run, and says so", async () => {
    await tool.write("long", programPipeline(`console.log('it began'); ${writePid} ${untilCancelled}`));
    const running = tool.spawn(["run", "long", "good", "--junit", "r.xml"]);
    await writtenPid(path("pid"));
    running.kill("SIGINT");
    assert.equal((await running).exitCode, 130);
    assert.deepEqual(await cases("r.xml"), ["long only error", "good (the run) error"]);
    assert.match(await read("r.xml"), /message="cancelled by key_\w+"/);
    assert.match(await read("r.xml"), /it began/);
  });

  it("is refused before a run is used where it can't be written, or where it would hide the result", async () => {
    await mkdir(path("folder"));
    for (const [words, why] of [
      [["--junit", "missing/r.xml"], /missing.r\.xml can't be written: its folder doesn't exist/],
      [["--html", "folder"], /folder can't be written: it is there and is no plain file/],
      [["--junit", "r", "--html", "./r"], /can't be written to the same place/],
      [["--junit", "-"], /--junit - would mix with the result on standard output/],
      [["--html", "r.html", "--detach"], /--detach doesn't wait/],
    ] as const) {
      const { exitCode, stderr, stdout } = await tool.call(["run", "good", ...words]);
      assert.deepEqual([exitCode, stdout], [2, ""], stderr);
      assert.match(stderr, why);
    }
    assert.equal(await runsToday(), 0);
    assert.deepEqual((await readdir(tool.project)).sort(), ["folder", "pipelines"]);
  });

  itOn("posix", "replaces the one before, also behind a link", async () => {
    await writeFile(path("old.xml"), "old");
    await symlink("old.xml", path("r.xml"));
    await tool.call(["run", "good", "--junit", "r.xml"]);
    assert.equal(await readlink(path("r.xml")), "old.xml");
    assert.deepEqual(await cases("old.xml"), ["good only passed"]);
  });

  it("costs the success, and not the result, if it can't be written at the end", async () => {
    await mkdir(path("gone"));
    await tool.write("remover", programPipeline("require('node:fs').rmSync('gone', { recursive: true })"));
    const { exitCode, stdout } = await tool.call(["run", "remover", "--junit", "gone/r.xml", "--json"]);
    assert.equal(exitCode, 4);
    const { runs, warnings } = JSON.parse(stdout);
    assert.equal(runs[0].status, "succeeded");
    assert.match(warnings[0], /gone.r\.xml can't be written/);
    await mkdir(path("gone"));
    const failed = await tool.call(["run", "bad", "--junit", "gone/r.xml"]);
    assert.equal(failed.exitCode, 1);
    await rm(path("gone"), { recursive: true });
  });
});

describe("pipeline runs show, with a report", () => {
  let tool: Toolbox;
  before(async () => {
    tool = await servedToolbox();
    await tool.write("bad", programPipeline("console.log('the disk is on fire'); process.exit(7)"));
    await tool.call(["run", "bad"]);
  });
  after(() => tool[Symbol.asyncDispose]());

  it("prints it alone for -, and writes it beside the run's sheet to a file", async () => {
    const junit = await tool.call(["runs", "show", "--junit", "-"]);
    assert.equal(junit.exitCode, 0);
    assert.match(junit.stdout, /^<\?xml [\s\S]*<failure [\s\S]*the disk is on fire[\s\S]*<\/testsuites>$/);
    const html = await tool.call(["runs", "show", "--html", "-", "--exit-status"]);
    assert.equal(html.exitCode, 1);
    assert.match(html.stdout, /^<!doctype html>[\s\S]*the disk is on fire[\s\S]*<\/html>$/);
    const both = await tool.call(["runs", "show", "--junit", "r.xml", "--html", "r.html", "--json"]);
    assert.equal(JSON.parse(both.stdout).status, "failed");
    assert.match(await readFile(join(tool.project, "r.xml"), "utf8"), /the disk is on fire/);
    assert.match(await readFile(join(tool.project, "r.html"), "utf8"), /the disk is on fire/);
  });

  it("is refused on standard output twice, and where that holds the JSON object", async () => {
    for (const words of [
      ["--junit", "-", "--html", "-"],
      ["--junit", "-", "--json"],
    ]) {
      const { exitCode, stdout } = await tool.call(["runs", "show", ...words]);
      assert.equal(exitCode, 2);
      assert(!stdout.includes("<?xml"));
    }
  });
});
