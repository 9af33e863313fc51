import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LoopbackService, runOnWire, sendError, sendJson, testKey } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { servedToolbox, type Toolbox, toolbox } from "../toolbox.ts";

describe("pipeline runs download", () => {
  it("saves what a run's steps kept, in a folder of the run's name, or one of them elsewhere", async () => {
    await using tool = await servedToolbox();
    const script =
      "const fs = require('node:fs'); fs.mkdirSync('reports', { recursive: true }); fs.writeFileSync('reports/a.xml', '<a/>'); fs.writeFileSync('b.json', '{}')";
    await tool.write(
      "tests",
      JSON.stringify({
        resources: { sh: { type: "cli" } },
        steps: [
          {
            name: "test",
            use: "sh",
            run: [process.execPath, "-e", script],
            keep: ["reports/*.xml", "b.json"],
          },
        ],
      }),
    );
    const [run] = JSON.parse((await tool.call(["run", "tests", "--json"])).stdout).runs;
    const id = String(run["run-id"]);
    const shown = await tool.call(["runs", "show", id]);
    assert.match(shown.stdout, /reports\/a\.xml +test +text\/plain +4 bytes/);
    assert.match(shown.stdout, new RegExp(`\`pipeline runs download ${id}\` saves them`));
    const { stdout, stderr, exitCode } = await tool.call(["runs", "download"]);
    assert.deepEqual([stderr, exitCode], ["", 0]);
    assert.deepEqual(stdout.split("\n"), [join(id, "b.json"), join(id, "reports", "a.xml")]);
    assert.equal(readFileSync(join(tool.project, id, "reports/a.xml"), "utf8"), "<a/>");
    const out = join("o".repeat(150), "ut".repeat(75));
    const one = await tool.call(["runs", "download", id, "reports/a.xml", "--to", out, "--json"]);
    const told = JSON.parse(one.stdout);
    const path = join(tool.project, out, "reports", "a.xml");
    assert.deepEqual(
      [told.command, told["run-id"], told.folder],
      ["runs download", id, join(tool.project, out)],
    );
    assert.deepEqual(
      told.files.map((file: { name: string; path: string; bytes: number }) => [
        file.name,
        file.path,
        file.bytes,
      ]),
      [["reports/a.xml", path, 4]],
    );
    assert.equal(existsSync(join(tool.project, "out", "b.json")), false);
  });

  it("says what there is where it has no such file, and where no step kept any", async () => {
    await using tool = await stubbed([artifact("found.png"), artifact("body.json")]);
    const near = await tool.call(["runs", "download", "run_1", "fuond.png"]);
    assert.deepEqual(
      [near.exitCode, near.stderr],
      [2, "pipeline: The run run_1 kept no file `fuond.png`.\nDid you mean `found.png`?"],
    );
    const far = await tool.call(["runs", "download", "run_1", "report"]);
    assert.match(far.stderr, /^It kept found\.png, body\.json\.$/m);
    await using none = await stubbed([]);
    const nothing = await none.call(["runs", "download", "run_1"]);
    assert.equal(nothing.exitCode, 2);
    assert.match(nothing.stderr, /^pipeline: The run run_1 kept no files\.$/m);
    assert.equal(existsSync(join(none.project, "run_1")), false);
  });

  it("saves the file of one step where others have a file of that name, as the run's text says", async () => {
    await using tool = await servedToolbox();
    const step = (name: string, id: string) => ({
      ...{ name, id, use: "sh", keep: "body.json" },
      run: [process.execPath, "-e", `require('node:fs').writeFileSync('body.json', '"${id}"')`],
    });
    const steps = [step("one", "first"), step("the other", "second"), step("the other", "third")];
    const pipeline = (count: number) => ({
      resources: { sh: { type: "cli" } },
      steps: [...steps.slice(0, count), { use: "sh", run: [process.execPath, "-e", ""], name: "no file" }],
    });
    await tool.write("tests", JSON.stringify(pipeline(2)));
    await tool.call(["run", "tests"]);
    const shown = async () => (await tool.call(["runs", "show"])).stdout;
    assert.match(await shown(), /`pipeline runs download run_\w+ body\.json --step 'the other'` saves that/);
    await tool.write("tests", JSON.stringify(pipeline(3)));
    const [run] = JSON.parse((await tool.call(["run", "tests", "--json"])).stdout).runs;
    const id = String(run["run-id"]);
    assert.match(await shown(), /body\.json --step 3` saves that of one step\.$/m);
    const saved = async (meant: string) => {
      const { stderr } = await tool.call([
        "runs",
        "download",
        id,
        "body.json",
        "--step",
        meant,
        "--overwrite",
      ]);
      return stderr || readFileSync(join(tool.project, id, "body.json"), "utf8");
    };
    assert.deepEqual(
      [await saved("3"), await saved("second"), await saved("one")],
      ['"third"', '"second"', '"first"'],
    );
    assert.match(await saved("no file"), /^pipeline: The step `no file` of the run run_\w+ kept no files\./);
    assert.match(await saved("nothing"), /no step `nothing`/);
  });

  it("replaces nothing that is there, unless it is told to, and follows no link", async () => {
    await using tool = await stubbed([artifact("a.txt"), artifact("b.txt")]);
    const at = (name: string) => join(tool.project, name);
    mkdirSync(at("out"));
    writeFileSync(at("precious"), "precious");
    symlinkSync(at("precious"), at("out/b.txt"));
    const refused = await tool.call(["runs", "download", "run_1", "--to", "out"]);
    assert.deepEqual(
      [refused.exitCode, refused.stdout, refused.stderr],
      [
        2,
        "",
        `pipeline: ${at("out/b.txt")} is there already, so nothing was saved.\nName another folder with --to, or replace what is there with --overwrite.`,
      ],
    );
    assert.equal(existsSync(at("out/a.txt")), false);
    const done = await tool.call(["runs", "download", "run_1", "--to", "out", "--overwrite"]);
    assert.equal(done.exitCode, 0);
    assert.equal(readFileSync(at("out/b.txt"), "utf8"), "content of 2");
    assert.equal(readFileSync(at("precious"), "utf8"), "precious");
    await using nested = await stubbed([artifact("keys/a.txt")]);
    const below = (name: string) => join(nested.project, name);
    mkdirSync(below("out"));
    mkdirSync(below("elsewhere"));
    symlinkSync(below("elsewhere"), below("out/keys"));
    const led = await nested.call(["runs", "download", "run_1", "--to", "out", "--overwrite"]);
    assert.equal(led.exitCode, 2);
    assert.match(led.stderr, /out\/keys is a link to elsewhere, so nothing was saved\./);
    assert.equal(existsSync(below("elsewhere/a.txt")), false);
  });

  itOn("posix", "saves names from anywhere within its folder, each its own", async () => {
    const names = [
      "../../escape",
      "/etc/passwd",
      "C:\\Windows\\x.ini",
      ".bashrc",
      "-rf",
      "body.json",
      "BODY.json",
      "body.json",
      "a",
      "a/b",
      "con.txt",
      "x\u001b]0;owned\u0007\u202e\n.txt",
      "..",
      "a/".repeat(30),
      "n".repeat(5000),
    ];
    await using tool = await stubbed(names.map(artifact));
    const { stdout, exitCode } = await tool.call(["runs", "download", "run_1", "--to", "out"]);
    assert.equal(exitCode, 0);
    const saved = stdout.split("\n");
    assert.deepEqual(saved.slice(0, -1), [
      "out/escape",
      "out/etc/passwd",
      "out/C/Windows/x.ini",
      "out/bashrc",
      "out/rf",
      "out/body.json",
      "out/2-BODY.json",
      "out/3-body.json",
      "out/a",
      "out/2-a/b",
      "out/_con.txt",
      "out/x]0;owned-.txt",
      "out/file",
      "out/3-a",
    ]);
    assert.match(saved.at(-1) ?? "", /^out\/n{200}$/);
    for (const path of saved) assert.match(readFileSync(join(tool.project, path), "utf8"), /^content of /);
    assert.equal(existsSync(join(tool.project, "..", "escape")), false);
  });

  it("shows what the service says of a file that it has removed, and writes it nowhere", async () => {
    await using tool = await stubbed([artifact("gone.txt")], () => undefined);
    const gone = await tool.call(["runs", "download", "run_1"]);
    assert.equal(gone.exitCode, 2);
    assert.match(gone.stderr, /It was removed on 2 March\./);
    assert.equal(existsSync(join(tool.project, "run_1", "gone.txt")), false);
  });
});

function artifact(name: string, index = 0) {
  return {
    name,
    file: `0-${index + 1}`,
    "step-index": 0,
    "media-type": "text/plain",
    bytes: 1,
    at: "2026-03-03T10:00:05Z",
  };
}

/** A tool whose service has one run, `run_1`, with these files. */
async function stubbed(
  artifacts: readonly object[],
  contentOf: (file: string) => string | undefined = (file) => `content of ${file.split("-").at(-1)}`,
): Promise<Toolbox> {
  const kept = artifacts.map((one, index) => ({ ...one, file: `0-${index + 1}` }));
  const service = await LoopbackService.listen(({ path, headers }, response) => {
    assert.equal(headers["x-api-key"], testKey);
    if (path === "/api/runs/run_1") return sendJson(response, 200, runOnWire({ artifacts: kept }));
    const content = contentOf(path.split("/").at(-1) ?? "");
    if (content === undefined) return sendError(response, 404, "not-found", "It was removed on 2 March.");
    response.writeHead(200, { "content-type": "text/plain" }).end(content);
    return undefined;
  });
  const tool = await toolbox();
  const env = { PIPELINE_BASE_URL: service.origin, PIPELINE_API_KEY: testKey };
  return {
    ...tool,
    call: (args, more, folder) => tool.call(args, { ...env, ...more }, folder),
    async [Symbol.asyncDispose]() {
      await tool[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
