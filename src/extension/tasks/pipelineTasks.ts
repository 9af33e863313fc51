import { setTimeout as pause } from "node:timers/promises";
import * as vscode from "vscode";
import { describeError, exitCodes } from "../../contract/errors.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { RunTaskDeps } from "./runTask.ts";
import { taskProvider, taskType } from "./taskDefinition.ts";
import { TaskTerminal } from "./taskTerminal.ts";

/** Finds the failed step's position in a task's output (package.json, `problemMatchers`). */
const problemMatcher = "$pipeline";

/** In milliseconds: the problem matcher gets a terminal's last output late, and stops 0.1 s after its end. */
const untilMatched = 500;

type TaskDeps = Omit<RunTaskDeps, "isOpen">;

/**
 * The window's pipelines as tasks of the editor.
 * @param load composes the window, once a task is run.
 * @param shutdown has the window's end wait for the task's.
 * @param ended aborts when the extension ends.
 */
export function pipelineTasks(
  load: () => Promise<TaskDeps>,
  shutdown: Shutdown,
  ended: AbortSignal,
): ReturnType<typeof taskProvider> {
  return taskProvider({
    folders: localFolders,
    makeTask: (definition, folder, name) => {
      const execution = new vscode.CustomExecution(
        async (resolved) =>
          new TaskTerminal(async (io) => {
            try {
              const [loaded, { runTask }] = await Promise.all([load(), import("./runTask.ts")]);
              const deps = { ...loaded, isOpen };
              const exitCode = await shutdown.join(runTask(resolved, folder?.uri.fsPath, io, deps));
              if (exitCode !== exitCodes.done) await pause(untilMatched);
              return exitCode;
            } catch (error) {
              io.stream.write(`${describeError(error)}\n`);
              return exitCodes.runDidNotSucceed;
            }
          }, ended),
      );
      const scope = folder ?? vscode.TaskScope.Workspace;
      return new vscode.Task(definition, scope, name, taskType, execution, problemMatcher);
    },
  });
}

function isOpen(path: string): boolean {
  return vscode.workspace.textDocuments.some(({ uri }) => uri.scheme === "file" && uri.fsPath === path);
}

function localFolders(): readonly vscode.WorkspaceFolder[] {
  const { workspaceFolders = [], isTrusted } = vscode.workspace;
  return isTrusted ? workspaceFolders.filter(({ uri }) => uri.scheme === "file") : [];
}
