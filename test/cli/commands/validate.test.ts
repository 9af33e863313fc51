import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { itOn } from "../../itOn.ts";
import { programPipeline } from "../../service/startedService.ts";
import { toolbox } from "../toolbox.ts";

const broken = "resources:\n  sh: { type: clii }\nsteps: [{ use: nobody, run: x }]\n";

describe("pipeline validate", () => {
  it("shows every problem with its position, its line and a caret, counts them, and starts no service", async () => {
    await using tool = await toolbox();
    await tool.write("good", programPipeline(""));
    await tool.write("bad", broken);
    const { exitCode, stdout, stderr } = await tool.run(["validate"]);
    assert.equal(exitCode, 1);
    const lines = stdout.split("\n");
    assert.match(lines[0] ?? "", /^pipelines[/\\]bad\.yaml:2:15: there is no resource type `clii`/);
    assert.equal(lines[1], "2 |   sh: { type: clii }");
    assert.equal(lines[2], "  |               ^");
    assert.match(lines[3] ?? "", /^pipelines[/\\]bad\.yaml:3:16: /);
    assert.equal(stderr, "pipeline: 2 problems in 1 of 2 files.");
    assert.deepEqual(await readdir(tool.data), []);
  });

  it("shows what is wrong in the YAML itself and all that is wrong beside it, each once", async () => {
    await using tool = await toolbox();
    const text =
      'resources:\n  sh: { type: cli }\nsteps:\n  - use: sh\n    run: echo "warn: x"\n  - name: a\n   use: shh\n    rnu: b\n';
    await tool.write("bad", text);
    const { stdout } = await tool.call(["validate", "--json"]);
    const [{ problems }] = JSON.parse(stdout).files;
    assert.deepEqual(problems, [
      { message: "put this value in quotes: it contains `: `", line: 5, column: 10 },
      { message: "the indentation is wrong: this line has to begin in column 5", line: 7, column: 4 },
      { message: "there is no resource `shh`; did you mean `sh`?", line: 7, column: 9 },
      { message: "a step has no `rnu`; did you mean `run`?", line: 8, column: 5 },
    ]);
    const { stderr } = await tool.call(["run", "bad"]);
    assert.match(stderr, /bad\.yaml:5:10: put this value in quotes: it contains `: `/);
  });

  it("ends with 0 when all is fine, and says nothing with --quiet", async () => {
    await using tool = await toolbox();
    await tool.write("good", programPipeline(""));
    const { exitCode, stdout, stderr } = await tool.call(["validate"]);
    assert.deepEqual(
      { exitCode, stdout, stderr },
      { exitCode: 0, stdout: "", stderr: "1 pipeline file, no problem." },
    );
    const quiet = await tool.call(["validate", "--quiet"]);
    assert.equal(quiet.stdout + quiet.stderr, "");
  });

  it("warns of what is likely a mistake, and ends with 0 all the same", async () => {
    await using tool = await toolbox();
    await tool.write(
      "login",
      'inputs: { key: }\nresources: { sh: { type: cli } }\nsteps: [{ use: sh, run: x, env: { TOKEN: "$\u007b{ inputs.key }}" } }]\n',
    );
    const { exitCode, stderr } = await tool.call(["validate"]);
    assert.equal(exitCode, 0);
    assert.match(stderr, /^pipeline: warning: pipelines[/\\]login\.yaml:3:47: an input is shown and kept/);
    const { stdout } = await tool.call(["validate", "--json"]);
    assert.equal(JSON.parse(stdout).warnings.length, 1);
  });

  it("warns of a file of the project that isn't there", async () => {
    await using tool = await toolbox();
    await tool.write(
      "order",
      'resources: { shop: { type: http, base-url: "http://h.test" } }\nsteps: [{ use: shop, post: /, file: order.json }]\n',
    );
    const { exitCode, stderr } = await tool.call(["validate"]);
    assert.equal(exitCode, 0);
    assert.match(
      stderr,
      /order\.yaml:2:37: `order\.json` isn't in the project's folder, and no step makes it/,
    );
    await writeFile(join(tool.project, "order.json"), "{}");
    assert.equal((await tool.call(["validate"])).stderr, "1 pipeline file, no problem.");
  });

  it("tells editors all of it as one object", async () => {
    await using tool = await toolbox();
    await tool.write("good", programPipeline(""));
    await tool.write("bad", broken);
    const { exitCode, stdout } = await tool.call(["validate", "--json", "bad", "good"]);
    assert.equal(exitCode, 1);
    const told = JSON.parse(stdout);
    assert.equal(told.ok, false);
    assert.equal(told.error.type, "invalid-pipeline");
    const [bad, good] = told.files;
    assert.deepEqual(
      bad.problems.map(({ line, column }: { line: number; column: number }) => [line, column]),
      [
        [2, 15],
        [3, 16],
      ],
    );
    assert.deepEqual([good.pipeline, good.problems], ["good", []]);
  });

  it("takes names, and paths from anywhere, each file once", async () => {
    await using tool = await toolbox();
    await tool.write("good", programPipeline(""));
    const path = join(tool.project, "pipelines", "good.yaml");
    const twice = JSON.parse((await tool.call(["validate", "good", path, "--json"])).stdout);
    assert.equal(twice.files.length, 1);
    const outside = await tool.call(["validate", path], {}, tool.data);
    assert.equal(outside.exitCode, 0, outside.stderr);
  });

  it("reads standard input, by the name that it is given", async () => {
    await using tool = await toolbox();
    const piped = (args: readonly string[], input: string) =>
      execa(process.execPath, [tool.path, "validate", "-", ...args], {
        cwd: tool.project,
        input,
        reject: false,
      });
    const fine = await piped([], programPipeline(""));
    assert.equal(fine.exitCode, 0, fine.stderr);
    const bad = await piped(["--stdin-name", "pipelines/new.yaml"], broken);
    assert.equal(bad.exitCode, 1);
    assert.match(bad.stdout, /^pipelines\/new\.yaml:2:15: /);
    const large = await piped([], "#".repeat(5_000_000));
    assert.match(large.stdout, /^<stdin>:1:1: the file is larger/);
  });

  it("ends with 2 for a file that isn't there, a folder, or no project, before it tells anything", async () => {
    await using tool = await toolbox();
    assert.match(
      (await tool.call(["validate"])).stderr,
      /no pipelines\/<name>\.yaml here or above\.\n[\s\S]*make this one a project/,
    );
    await tool.write("hello", broken);
    for (const [args, said] of [
      [["hello", "nope.yaml"], /no file nope\.yaml/],
      [["hello", "helo"], /no pipeline and no file helo\.\nDid you mean `hello`/],
      [["pipelines/"], /is a folder/],
    ] as const) {
      const { exitCode, stdout, stderr } = await tool.call(["validate", ...args]);
      assert.equal(exitCode, 2, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, said);
    }
  });

  it("finds a name that several files of the project have, also when only one of them is named", async () => {
    await using tool = await toolbox();
    await tool.write("one", programPipeline(""));
    await tool.write("two", `name: one\n${programPipeline("")}`);
    for (const args of [[], ["two"], ["pipelines/two.yaml"]]) {
      const { exitCode, stdout } = await tool.call(["validate", ...args]);
      assert.equal(exitCode, 1);
      assert.match(stdout, /two\.yaml:1:7: another file has the name `one` as well \(pipelines\/one\.yaml\)/);
    }
    const { pipelines } = JSON.parse((await tool.call(["pipelines", "--json"])).stdout);
    assert.match(pipelines[0].problem, /pipelines\/two\.yaml/);
  });

  it("tells of an env-file that isn't there, where the pipeline names it", async () => {
    await using tool = await toolbox();
    await tool.write("one", `# of the shop\nenv-file: .env\n${programPipeline("")}`);
    for (const args of [[], ["one"], ["pipelines/one.yaml"]]) {
      const { exitCode, stdout } = await tool.call(["validate", ...args]);
      assert.equal(exitCode, 1);
      assert.match(stdout, /one\.yaml:2:11: the pipeline's env-file, `\.env`, isn't in the project's folder/);
    }
    await writeFile(join(tool.project, ".env"), "TOKEN=x\n");
    assert.equal((await tool.call(["validate"])).exitCode, 0);
  });

  it("tells of a file that isn't UTF-8 in one problem, whatever it is instead", async () => {
    await using tool = await toolbox();
    const text = "resources: { sh: { type: cli } }\nsteps: [{ use: sh, run: touch Grün }]\n";
    const write = (name: string, bytes: Uint8Array) =>
      writeFile(join(tool.project, "pipelines", name), bytes);
    await write("latin.yaml", Buffer.from(text, "latin1"));
    await write("marked.yaml", Buffer.from(`\ufeff${text}`, "utf16le"));
    await write("plain.yaml", Buffer.from(text.replace("ü", "u"), "utf16le"));
    await write("utf8.yaml", Buffer.from(`\ufeff${text}`));
    const { exitCode, stdout } = await tool.call(["validate"]);
    assert.equal(exitCode, 1);
    assert.match(
      stdout,
      /latin\.yaml:2:33: this is not UTF-8: the byte 0xFC here is none of its characters; save/,
    );
    assert.match(stdout, /marked\.yaml:1:1: this is not UTF-8: it is UTF-16; save the file as UTF-8/);
    assert.match(stdout, /plain\.yaml:1:2: this is not UTF-8: it holds NUL characters, as UTF-16 does/);
    assert.doesNotMatch(stdout, /utf8\.yaml/);
  });

  itOn("posix", "tells of files that can't be read as it does of others: a pipe, one too large", async () => {
    await using tool = await toolbox();
    await execa("mkfifo", [join(tool.project, "pipelines", "pipe.yaml")]);
    await tool.write("large", "#".repeat(1024 * 1024 + 1));
    const { exitCode, stdout } = await tool.call(["validate"]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /large\.yaml:1:1: the file is larger than 1 MiB/);
    assert.match(stdout, /pipe\.yaml:1:1: this is no plain file/);
  });
});
