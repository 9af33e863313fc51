import * as vscode from "vscode";
import { describeError, exitCodes } from "../../contract/errors.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { RunTaskDeps } from "./runTask.ts";
import { taskProvider, taskType } from "./taskDefinition.ts";
import { taskTerminal } from "./taskTerminal.ts";

/** None: the failed step is marked in its file like that of any run, without searching the output. */
const problemMatchers: string[] = [];

/**
 * The window's pipelines as tasks of the editor.
 * @param load composes the window, once a task runs.
 * @param shutdown makes the window's end wait for the task's end.
 * @param ended aborts when the extension ends.
 */
export function pipelineTasks(
  load: () => Promise<RunTaskDeps>,
  shutdown: Shutdown,
  ended: AbortSignal,
): ReturnType<typeof taskProvider> {
  return taskProvider({
    folders: localFolders,
    makeTask: (definition, folder, name) => {
      const execution = new vscode.CustomExecution(async (resolved) =>
        taskTerminal(async (io) => {
          try {
            const [deps, { runTask }] = await Promise.all([load(), import("./runTask.ts")]);
            return await shutdown.join(runTask(resolved, folder?.uri.fsPath, io, deps));
          } catch (error) {
            io.stream.write(`${describeError(error)}\n`);
            return exitCodes.runDidNotSucceed;
          }
        }, ended),
      );
      const scope = folder ?? vscode.TaskScope.Workspace;
      return new vscode.Task(definition, scope, name, taskType, execution, problemMatchers);
    },
  });
}

function localFolders(): readonly vscode.WorkspaceFolder[] {
  const { workspaceFolders = [], isTrusted } = vscode.workspace;
  return isTrusted ? workspaceFolders.filter(({ uri }) => uri.scheme === "file") : [];
}
