import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ChooseStartDeps, chooseStart } from "../../../src/extension/start/chooseStart.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { PipelineTree } from "../../../src/extension/views/pipelineTree.ts";
import { projectFiles } from "../../../src/project/pipelineFiles.ts";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { fakeWindow } from "./fakeWindow.ts";

describe("the row of a pipeline file", function () {
  this.timeout(60_000);

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
    const executeCommand = async () => undefined;
    const deps: ChooseStartDeps = {
      session: { connect: async () => client },
      notice: { window, executeCommand, openPosition: async () => undefined, onKeyRefused: async () => {} },
      window,
      executeCommand,
      lastUsed: new LastUsed(memoryMemento()),
      log: { info: () => {} },
      folders: () => [service.project.root, root],
      isTrusted: () => true,
      signal: new AbortController().signal,
    };
    const wish = await chooseStart(deps, "Run Pipeline", row);
    assert.equal(wish?.root, root);
    assert.notEqual(wish?.project, service.project.name);
  });
});
