import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { servedToolbox, toolbox } from "../toolbox.ts";

describe("pipeline pipelines", () => {
  it("lists the files of the project that one stands in, broken ones too, and starts no service", async () => {
    await using tool = await toolbox();
    await tool.write("hello", programPipeline(""));
    await tool.write("broken", "steps: 3\n");
    const { exitCode, stdout, stderr } = await tool.run(["pipelines"]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^broken\t\t1 problem\nhello\tcli\tfine$/);
    assert.match(stderr, /pipeline validate/);
    const { pipelines } = JSON.parse((await tool.call(["pipelines", "--json"])).stdout);
    assert.deepEqual(pipelines[1], {
      name: "hello",
      project: basename(tool.project),
      path: "pipelines/hello.yaml",
      "resource-types": ["cli"],
      inputs: [],
      tags: [],
    });
    assert.deepEqual(await readdir(tool.data), []);
  });

  it("lists those with a tag, and says whose tags aren't known", async () => {
    await using tool = await toolbox();
    for (const [name, tags] of Object.entries({ lint: "fast", smoke: "fast, nightly", soak: "nightly" })) {
      await tool.write(name, `tags: [${tags}]\n${programPipeline("")}`);
    }
    const fast = await tool.call(["pipelines", "--tag", "fast"]);
    assert.equal(fast.stdout, "lint\tcli\tfine\t#fast\nsmoke\tcli\tfine\t#fast #nightly");
    const both = await tool.call(["pipelines", "--tag", "fast", "--tag", "nightly", "--json"]);
    const { pipelines } = JSON.parse(both.stdout);
    assert.deepEqual(
      pipelines.map(({ name, tags }: { name: string; tags: string[] }) => [name, tags]),
      [
        ["lint", ["fast"]],
        ["smoke", ["fast", "nightly"]],
        ["soak", ["nightly"]],
      ],
    );
    const none = await tool.call(["pipelines", "--tag", "slow"]);
    assert.deepEqual([none.exitCode, none.stdout, none.stderr], [0, "", "The tags are: fast, nightly."]);
    await tool.write("broken", "tags: [fast]\nsteps: 3\n");
    const doubtful = await tool.call(["pipelines", "--tag", "fast"]);
    assert.match(doubtful.stderr, /tags of pipelines\/broken\.yaml aren't known, since it can't be run/);
  });

  it("lists every project that the service knows with --all, and one of them with --project", async () => {
    await using tool = await servedToolbox();
    await tool.write("hello", programPipeline(""));
    const other = join(tool.project, "inside");
    await mkdir(join(other, "pipelines"), { recursive: true });
    await writeFile(join(other, "pipelines", "second.yaml"), programPipeline(""));
    const fromInside = await tool.call(["pipelines", "--all"], {}, other);
    assert.match(fromInside.stdout, /^second\tcli\tfine$/);
    const { stdout } = await tool.call(["pipelines", "--all"]);
    assert.match(stdout, new RegExp(`hello\t${basename(tool.project)}\tcli\tfine`));
    assert.match(stdout, /second\tinside\tcli\tfine/);
    assert.match((await tool.call(["pipelines", "--project", "inside"])).stdout, /^second\tcli\tfine$/);
    assert.equal((await tool.call(["pipelines", "--project", "inside", "--all"])).exitCode, 2);
  });

  it("says where it looked and which files are here when a service in use knows no pipelines", async () => {
    await using service = await startedService();
    const { secret } = await service.key("viewer");
    await using tool = await toolbox();
    for (const name of ["hello", "nightly"]) await tool.write(name, programPipeline(""));
    const named = { PIPELINE_BASE_URL: service.url, PIPELINE_API_KEY: secret };
    const { exitCode, stdout, stderr } = await tool.call(["pipelines"], named);
    assert.deepEqual([exitCode, stdout], [0, ""]);
    assert.deepEqual(stderr.split("\n"), [
      `${new URL(service.url).host} knows no pipelines yet. The first start in a project's folder tells it.`,
      `In ${tool.project}: pipelines/hello.yaml, pipelines/nightly.yaml.`,
    ]);
  });

  it("says that a file which ends with .yml has to be renamed, as validate and run do", async () => {
    await using tool = await servedToolbox();
    await writeFile(join(tool.project, "pipelines", "hello.yml"), programPipeline(""));
    const rename = `A pipeline file's name ends with .yaml: rename ${join("pipelines", "hello.yml")}.`;
    for (const line of ["run hello", "run hello.yml", "run", "validate", "pipelines"]) {
      const { stderr } = await tool.call(line.split(" "));
      assert(stderr.includes(rename), `${line}: ${stderr}`);
    }
    await tool.write("other", programPipeline(""));
    for (const line of ["run hello", "run other hello.yml", "validate", "pipelines"]) {
      const { exitCode, stderr } = await tool.call(line.split(" "));
      assert.equal(exitCode, line.startsWith("run") ? 2 : 0, line);
      assert(stderr.includes(rename), `${line}: ${stderr}`);
    }
  });

  it("lists what a service of another address knows, wherever one stands, also to who may only look", async () => {
    await using service = await startedService();
    await service.write("theirs", programPipeline(""));
    await service.member();
    const { secret } = await service.key("viewer");
    await using tool = await toolbox();
    await tool.write("mine", programPipeline(""));
    const named = { PIPELINE_BASE_URL: service.url, PIPELINE_API_KEY: secret };
    const { stdout, stderr } = await tool.call(["pipelines"], named);
    assert.match(stdout, /^theirs\tcli\tfine$/, stderr);
  });
});
