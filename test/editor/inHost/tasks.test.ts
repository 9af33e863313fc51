import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { programPipeline } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { foldersChanged } from "./foldersChanged.ts";

const type = "pipeline";

describe("pipelines as tasks of the editor", () => {
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
    const exitCodes = new Map<vscode.TaskExecution, number | undefined>();
    const listening = vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      exitCodes.set(execution, exitCode);
    });
    try {
      const execution = await vscode.tasks.executeTask(task);
      await until(async () => exitCodes.has(execution));
      return exitCodes.get(execution);
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
    const tasks = await until(async () => {
      const found = await vscode.tasks.fetchTasks({ type });
      return found.length > 0 && found;
    });
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

  describe("of two folders that each have a pipeline of one name", () => {
    let folders: readonly TemporaryFolder[] = [];

    before(async () => {
      folders = [await TemporaryFolder.make(), await TemporaryFolder.make()];
      const tasks = [{ type, pipeline: "greet", label: "mine" }];
      for (const { path } of folders) {
        await mkdir(join(path, "pipelines"));
        await mkdir(join(path, ".vscode"));
        // It ends once there is no file `hold`.
        const script =
          "const fs = require('node:fs'); fs.appendFileSync('ran', '+'); " +
          "const look = () => fs.existsSync('hold') && setTimeout(look, 20); look()";
        await writeFile(join(path, "pipelines/greet.yaml"), programPipeline(script));
        await writeFile(join(path, ".vscode/tasks.json"), JSON.stringify({ version: "2.0.0", tasks }));
      }
      const added = folders.map(({ path }) => ({ uri: vscode.Uri.file(path) }));
      const change = foldersChanged();
      vscode.workspace.updateWorkspaceFolders(1, 0, ...added);
      await change;
    });
    after(async () => {
      const change = foldersChanged();
      vscode.workspace.updateWorkspaceFolders(1, folders.length);
      await change;
      for (const each of folders) await each[Symbol.asyncDispose]();
    });

    const pathOf = ({ scope }: vscode.Task) => (typeof scope === "object" ? scope.uri.fsPath : undefined);
    /** The folders' tasks, the first folder's first. */
    const tasksOf = async (isMeant: (task: vscode.Task) => boolean) => {
      const all = await vscode.tasks.fetchTasks();
      return folders.flatMap(({ path }) => all.filter((task) => pathOf(task) === path && isMeant(task)));
    };
    /** How often the folder's pipeline has run. */
    const runsIn = async ({ path }: TemporaryFolder) =>
      (await readFile(join(path, "ran"), "utf8").catch(() => "")).length;
    /** How often each folder's pipeline has run since this was asked last. Not for while one runs: it may be missed. */
    const runs = () =>
      Promise.all(
        folders.map(async (each) => {
          const count = await runsIn(each);
          await rm(join(each.path, "ran"), { force: true });
          return count;
        }),
      );

    it("run the one of their own folder, one after the other and again", async () => {
      const tasks = await tasksOf(() => true);
      assert.equal(tasks.length, 3, "the second folder's `tasks.json` means any pipeline of the name");
      for (const task of tasks) {
        assert.equal(await ended(task), 0);
        const own = folders.map(({ path }) => (path === pathOf(task) ? 1 : 0));
        assert.deepEqual(await runs(), own, `${task.name} ${JSON.stringify(task.definition)}`);
        await vscode.commands.executeCommand("workbench.action.tasks.reRunTask");
        await until(async () => vscode.tasks.taskExecutions.length > 0);
        await until(async () => vscode.tasks.taskExecutions.length === 0);
        assert.deepEqual(await runs(), own, `again: ${task.name} ${JSON.stringify(task.definition)}`);
      }
    });

    it("run each its own when they are begun at once", async () => {
      const [first, second] = await tasksOf(() => true);
      assert(first !== undefined && second !== undefined);
      assert.deepEqual(await Promise.all([first, second, await named("hello")].map(ended)), [0, 0, 0]);
      assert.deepEqual(await runs(), [1, 1]);
    });

    it("run no other folder's where the editor takes two for one while the first is active", async () => {
      const [first, second] = await tasksOf(({ name }) => name === "mine");
      assert(first !== undefined && second !== undefined);
      assert.deepEqual(first.definition, second.definition);
      const [folder, other] = folders;
      assert(folder !== undefined && other !== undefined);
      const hold = join(folder.path, "hold");
      await writeFile(hold, "");
      const exitCodes: (number | undefined)[] = [];
      const listening = vscode.tasks.onDidEndTaskProcess(({ exitCode }) => exitCodes.push(exitCode));
      try {
        await vscode.tasks.executeTask(first);
        await until(async () => (await runsIn(folder)) > 0);
        await vscode.tasks.executeTask(second);
        await until(async () => exitCodes.length > 0);
        assert.deepEqual(exitCodes, [1]);
        assert.deepEqual(await runs(), [1, 0]);
      } finally {
        listening.dispose();
        await rm(hold);
      }
      // It gets the slot once the first has ended, whose end the editor doesn't tell apart.
      await vscode.tasks.executeTask(second);
      await until(async () => (await runsIn(other)) > 0);
      await until(async () => vscode.tasks.taskExecutions.length === 0);
    });
  });
});
