import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Task, WorkspaceFolder } from "vscode";
import { taskProvider } from "../../../src/extension/tasks/taskDefinition.ts";
import { programPipeline } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

/** A folder of the window, as far as tasks know it. */
const folderOf = (path: string) =>
  ({ uri: { fsPath: path }, name: basename(path), index: 0 }) as WorkspaceFolder;

function providerOf(...folders: string[]) {
  return taskProvider({
    folders: () => folders.map(folderOf),
    makeTask: (definition, scope, name) => ({ definition, scope, name }) as unknown as Task,
  });
}

describe("the tasks of a window", () => {
  it("are the pipelines of its projects, by their names, each with its file", async () => {
    await using project = await TemporaryFolder.make();
    const write = (name: string, text: string) =>
      writeFile(join(project.path, "pipelines", `${name}.yaml`), text);
    await mkdir(join(project.path, "pipelines"));
    await mkdir(join(project.path, "inside"));
    await write("a", `name: tidy\n${programPipeline("")}`);
    await write("b", "steps: [");
    await write("c", programPipeline(""));
    const tasks = await providerOf(project.path, join(project.path, "inside")).provideTasks();
    assert.deepEqual(
      tasks.map(({ name, detail, definition }) => [name, detail, definition]),
      [
        ["tidy", "pipelines/a.yaml", { type: "pipeline", pipeline: "tidy" }],
        ["b", "pipelines/b.yaml", { type: "pipeline", pipeline: "b" }],
        ["c", "pipelines/c.yaml", { type: "pipeline", pipeline: "c" }],
      ],
    );
  });

  it("differ in their definitions where two projects have a pipeline of one name", async () => {
    await using first = await TemporaryFolder.make();
    await using second = await TemporaryFolder.make();
    for (const { path } of [first, second]) {
      await mkdir(join(path, "pipelines"));
      await writeFile(join(path, "pipelines/a.yaml"), programPipeline(""));
    }
    const tasks = await providerOf(first.path, second.path).provideTasks();
    assert.deepEqual(
      tasks.map(({ name, definition }) => [name, definition]),
      [
        ["a", { type: "pipeline", pipeline: "a" }],
        ["a", { type: "pipeline", pipeline: "a", project: basename(second.path) }],
      ],
    );
  });

  it("are none without projects", async () => {
    await using empty = await TemporaryFolder.make();
    assert.deepEqual(await providerOf(empty.path).provideTasks(), []);
    assert.deepEqual(await providerOf().provideTasks(), []);
  });

  it("keep the definition that stands in a tasks.json as it is", () => {
    const definition = { type: "pipeline", pipeline: "a", timeLimit: "5m" };
    const scope = folderOf("/shop");
    const resolved = providerOf().resolveTask({ definition, scope, name: "nightly" } as unknown as Task);
    assert.equal(resolved.definition, definition);
    assert.equal(resolved.scope, scope);
    assert.equal(resolved.name, "nightly");
  });
});
