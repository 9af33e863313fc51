import { setTimeout as pause } from "node:timers/promises";
import * as vscode from "vscode";
import { describeError, exitCodes } from "../../contract/errors.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { RunTaskDeps } from "./runTask.ts";
import { PipelineTaskProvider, taskType } from "./taskDefinition.ts";
import { TaskTerminal } from "./taskTerminal.ts";

/** What finds in a task's output where a step failed (package.json, `problemMatchers`). */
const problemMatcher = "$pipeline";

/**
 * What a terminal printed last takes a moment to get to the problem matcher, which listens only a tenth of a second beyond
 * its end. In milliseconds.
 */
const untilMatched = 500;

/** What a task needs of its window. */
export type TaskDeps = Omit<RunTaskDeps, "isOpen">;

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
): PipelineTaskProvider {
  return new PipelineTaskProvider({
    folders: localFolders,
    makeTask: (definition, folder, name) => {
      const execution = new vscode.CustomExecution(
        async (resolved) =>
          new TaskTerminal(async (place) => {
            try {
              const [loaded, { runTask }] = await Promise.all([load(), import("./runTask.ts")]);
              const deps = { ...loaded, isOpen };
              const exitCode = await shutdown.join(runTask(resolved, folder?.uri.fsPath, place, deps));
              if (exitCode !== exitCodes.done) await pause(untilMatched);
              return exitCode;
            } catch (error) {
              place.screen.line(describeError(error));
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
