import * as vscode from "vscode";
import { describeError, exitCodes } from "../../contract/errors.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { RunTaskDeps } from "./runTask.ts";
import { folderOf, taskProvider, taskType } from "./taskDefinition.ts";
import { TaskStarts } from "./taskStarts.ts";
import { taskTerminal } from "./taskTerminal.ts";

/** None: the failed step is marked in its file like that of any run, without searching the output. */
const problemMatchers: string[] = [];

/**
 * The window's pipelines as tasks of the editor; called once in a window.
 * @param load composes the window, once a task runs.
 * @param shutdown makes the window's end wait for the task's end.
 * @param own makes the window's end dispose of a part.
 * @param ended aborts when the extension ends.
 */
export function pipelineTasks(
  load: () => Promise<RunTaskDeps>,
  shutdown: Shutdown,
  own: (part: vscode.Disposable) => void,
  ended: AbortSignal,
): ReturnType<typeof taskProvider> {
  const starts = new TaskStarts();
  own(
    vscode.tasks.onDidStartTask(({ execution: { task } }) => {
      const { definition, execution } = task;
      if (definition.type === taskType && execution instanceof vscode.CustomExecution) starts.note(task);
    }),
  );
  return taskProvider({
    folders: localFolders,
    makeTask: (definition, folder, name) => {
      const execution = new vscode.CustomExecution(async (resolved) => {
        const begun = starts.begin(resolved);
        return taskTerminal(async (io) => {
          try {
            const started = await begun();
            const meant = started === undefined ? folder : folderOf(started);
            const [deps, { runTask }] = await Promise.all([load(), import("./runTask.ts")]);
            return await shutdown.join(runTask(resolved, meant?.uri.fsPath, io, deps));
          } catch (error) {
            io.stream.write(`${describeError(error)}\n`);
            return exitCodes.runDidNotSucceed;
          }
        }, ended);
      });
      const scope = folder ?? vscode.TaskScope.Workspace;
      return new vscode.Task(definition, scope, name, taskType, execution, problemMatchers);
    },
  });
}

function localFolders(): readonly vscode.WorkspaceFolder[] {
  const { workspaceFolders = [], isTrusted } = vscode.workspace;
  return isTrusted ? workspaceFolders.filter(({ uri }) => uri.scheme === "file") : [];
}
