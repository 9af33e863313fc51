import assert from "node:assert/strict";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { programPipeline } from "../../service/startedService.ts";
import { until } from "../../until.ts";

const type = "pipeline";

describe("pipelines as tasks of the editor", function () {
  this.timeout(60_000);
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  assert(folder !== undefined);
  const root = folder.uri.fsPath;

  before(async () => {
    await vscode.extensions.getExtension("pipeline-runs.pipeline-runs")?.activate();
    await mkdir(join(root, "pipelines"));
    const write = (name: string, text: string) => writeFile(join(root, "pipelines", `${name}.yaml`), text);
    await write("hello", programPipeline("console.log('hello')"));
    await write("fails", programPipeline("process.exit(3)"));
  });
  after(async () => {
    await rm(join(root, "pipelines"), { recursive: true });
  });

  /** Runs a task to its end. @returns its exit code. */
  async function ended(task: vscode.Task): Promise<number | undefined> {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      if (execution.task.name === task.name) resolve(exitCode);
    });
    try {
      await vscode.tasks.executeTask(task);
      return await promise;
    } finally {
      listening.dispose();
    }
  }

  const named = async (name: string) => {
    const task = (await vscode.tasks.fetchTasks({ type })).find((one) => one.name === name);
    assert(task !== undefined, name);
    return task;
  };

  it("are those of the window's folder, and finding them starts nothing", async () => {
    const tasks = await vscode.tasks.fetchTasks({ type });
    assert.deepEqual(tasks.map(({ name }) => name).sort(), ["fails", "hello"]);
    for (const { problemMatchers, definition, source } of tasks) {
      assert.deepEqual(problemMatchers, [], "the editor marks the failed step by itself");
      assert.equal(definition.type, type);
      assert.equal(source, type);
    }
    assert.deepEqual(await readdir(join(root, "pipelines")), ["fails.yaml", "hello.yaml"]);
  });

  it("end with 0 when the run succeeds, with 1 when it fails, and the failed step is one of the editor's problems, once", async () => {
    assert.equal(await ended(await named("hello")), 0);
    assert.equal(await ended(await named("fails")), 1);
    const file = vscode.Uri.joinPath(folder.uri, "pipelines/fails.yaml");
    const problems = () =>
      vscode.languages.getDiagnostics(file).filter(({ message }) => message.includes("exited with 3"));
    await until(async () => problems().length > 0);
    assert.deepEqual(
      problems().map(({ range, source }) => [range.start.line, source]),
      [[4, "Pipeline Runs"]],
    );
  });
});
