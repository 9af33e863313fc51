import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { findProjects } from "../../client/project.ts";
import { describeError, exitCodes, PipelineError } from "../../contract/errors.ts";
import type { Shutdown } from "../window/shutdown.ts";
import type { RunTaskDeps } from "./runTask.ts";
import { folderOf, TaskStarts, taskProvider, taskType } from "./taskDefinition.ts";
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
    vscode.tasks.onDidStartTask(({ execution: started }) => {
      const { definition, execution } = started.task;
      if (definition.type === taskType && execution instanceof vscode.CustomExecution) starts.note(started);
    }),
  );
  own(vscode.tasks.onDidEndTask(({ execution }) => starts.end(execution)));
  return taskProvider({
    folders: localFolders,
    makeTask: (definition, folder, name) => {
      const execution = new vscode.CustomExecution(async (resolved) => {
        const begun = starts.begin(resolved);
        return taskTerminal(async (io) => {
          try {
            const started = await begun();
            const meant =
              started === "unknown"
                ? await onlyFolder(resolved["project"])
                : (started === undefined ? folder : folderOf(started))?.uri.fsPath;
            const [deps, { runTask }] = await Promise.all([load(), import("./runTask.ts")]);
            return await shutdown.join(runTask(resolved, meant, io, deps));
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

/**
 * The only folder of the window that a definition can mean; undefined if there is none.
 * @throws PipelineError `conflict` if it can mean several, so that no other folder's pipeline is run.
 */
async function onlyFolder(project: unknown): Promise<string | undefined> {
  const projects = await findProjects(localFolders().map(({ uri }) => uri.fsPath));
  const [only, other] = projects.filter(({ name }) => project === undefined || project === name);
  if (other === undefined) return only?.folder;
  throw new PipelineError(
    "conflict",
    t("A task with the same definition is active, and the editor does not tell which folder this one is of."),
    { next: t("Add “project” to the definitions in tasks.json.") },
  );
}

function localFolders(): readonly vscode.WorkspaceFolder[] {
  const { workspaceFolders = [], isTrusted } = vscode.workspace;
  return isTrusted ? workspaceFolders.filter(({ uri }) => uri.scheme === "file") : [];
}
