import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ServiceClient } from "../../../src/client/service/client.ts";
import type { PipelineEntry } from "../../../src/contract/pipelines.ts";
import { type ChooseStartDeps, chooseStart, pickPipeline } from "../../../src/extension/start/chooseStart.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { PipelineTree } from "../../../src/extension/views/pipelineTree.ts";
import { projectFiles } from "../../../src/project/pipelineFiles.ts";
import { LoopbackService, sendJson, testKey } from "../../client/loopbackService.ts";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { fakePick } from "../fakePick.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { answeringWindow, backButton } from "./answeringWindow.ts";
import { fakeWindow } from "./fakeWindow.ts";
import { namesOf } from "./namesOf.ts";

function depsOf(
  client: ServiceClient,
  folders: readonly string[],
  window: ReturnType<typeof fakeWindow>["window"],
): ChooseStartDeps {
  return {
    session: { connect: async () => client },
    projectNames: namesOf(),
    window,
    backButton,
    lastUsed: new LastUsed(memoryMemento()),
    saveFiles: async () => {},
    folders: () => folders,
    isTrusted: () => true,
    signal: new AbortController().signal,
  };
}

describe("the list of pipelines", () => {
  function rowsOf(...entries: readonly PipelineEntry[]) {
    const { pick } = fakePick();
    const window = { createQuickPick: () => Object.assign(pick, { onDidChangeValue: () => {} }) };
    void pickPipeline(entries, window as never, "Run Pipeline");
    return pick.rows.map(({ label, description, detail }) => [label, description, detail]);
  }

  const hello = { name: "hello", project: "shop", path: "pipelines/hello.yaml" };
  const nightly = { name: "nightly", project: "shop", path: "pipelines/flaky.yaml" };

  it("has one line for each, which says what isn't clear from its name", () => {
    assert.deepEqual(rowsOf(hello, nightly), [
      ["hello", "", undefined],
      ["nightly", "pipelines/flaky.yaml", undefined],
    ]);
  });

  it("names the project of each where there are several, and says what is wrong with a file", () => {
    const problem = "pipelines/flaky.yaml:1:1: this is empty";
    assert.deepEqual(rowsOf({ ...hello, project: "books" }, { ...nightly, problem }), [
      ["hello", "books", undefined],
      ["$(warning) nightly", "shop · pipelines/flaky.yaml", problem],
    ]);
  });
});

describe("the row of a pipeline file", () => {
  it("runs its own file before the service's name of its project is known, which another folder had first", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    await using folder = await TemporaryFolder.make();
    const root = join(folder.path, service.project.name);
    await mkdir(join(root, "pipelines"), { recursive: true });
    await writeFile(join(root, "pipelines/hello.yaml"), programPipeline(""));
    const tree = new PipelineTree();
    tree.update([{ project: { name: service.project.name, root }, files: await projectFiles(root) }]);
    const [row] = tree.roots;
    assert.equal(row?.kind === "file" && row.project, service.project.name);
    const { window } = fakeWindow([]);
    const deps = depsOf(client, [service.project.root, root], window);
    const wish = await chooseStart(deps, "Run Pipeline", row);
    assert.equal(wish?.root, root);
    assert.notEqual(wish?.project, service.project.name);
  });

  it("is read from the window's own folder, and the service is told of that once", async () => {
    await using service = await LoopbackService.listen(({ body }, response) => {
      sendJson(response, 200, { name: "lamps-2", root: JSON.parse(body).root });
    });
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines"));
    await writeFile(join(folder.path, "pipelines/hello.yaml"), programPipeline(""));
    await writeFile(join(folder.path, "pipelines/broken.yaml"), "steps: [");
    const { window } = fakeWindow([]);
    const baseUrl = new URL(`${service.origin}/`);
    const client = new ServiceClient({ baseUrl, apiKey: testKey, environment: {} });
    const deps = depsOf(client, [folder.path], window);
    for (const _ of ["first", "second"]) {
      const start = await chooseStart(deps, "Run Pipeline", { pipeline: "hello" });
      assert.deepEqual([start?.pipeline, start?.project, start?.root], ["hello", "lamps-2", folder.path]);
    }
    await assert.rejects(chooseStart(deps, "Run Pipeline", { pipeline: "broken" }), {
      message: /pipelines\/broken\.yaml:1:/,
      root: folder.path,
    });
    assert.deepEqual(
      service.asked.map(({ method, path }) => `${method} ${path}`),
      [`PUT /api/projects/${basename(folder.path)}`],
    );
  });
});

const withInputs = `inputs: { lamps: { type: number }, visit: true }\n${programPipeline("")}`;

describe("a start of a pipeline with inputs", () => {
  it("asks for what the window's own file declares, and brings what a keybinding gives", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", withInputs);
    const { window, asked } = answeringWindow([{ value: "2" }, undefined]);
    const deps = depsOf(client, [service.project.root], window);
    const given = { pipeline: "hello", inputs: { visit: false } };
    const start = await chooseStart(deps, "Run Pipeline", given);
    assert.deepEqual(start?.inputs, { visit: false, lamps: 2 });
    assert.equal(await chooseStart(deps, "Run Pipeline", given), undefined, "left by Escape");
    assert.deepEqual(
      asked.map(({ filled }) => filled),
      [[""], ["2"]],
    );
  });

  it("asks for those of the file as it is saved first", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", programPipeline(""));
    const { window } = answeringWindow([{ value: "2" }]);
    const deps = depsOf(client, [service.project.root], window);
    const saveFiles = () => service.write("hello", withInputs);
    const start = await chooseStart({ ...deps, saveFiles }, "Run Pipeline", { pipeline: "hello" });
    assert.deepEqual(start?.inputs, { lamps: 2 });
  });

  it("asks the service for those of a pipeline that isn't in the window", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    await service.write("hello", withInputs);
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "pipelines"));
    await writeFile(join(folder.path, "pipelines/other.yaml"), programPipeline(""));
    const { window, asked } = answeringWindow([{ value: "3" }]);
    for (const environment of [{}, undefined]) {
      const { baseUrl, apiKey } = client;
      const deps = depsOf(new ServiceClient({ baseUrl, apiKey, environment }), [], window);
      const { name } = service.project;
      const named = { pipeline: "hello", project: name, inputs: environment && { lamps: 4 } };
      const start = await chooseStart(deps, "Run Pipeline", named);
      assert.deepEqual([start?.project, start?.inputs], [name, { lamps: environment ? 4 : 3 }]);
    }
    assert.equal(asked.length, 1);
  });
});
