import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Task, TaskDefinition, TaskExecution, WorkspaceFolder } from "vscode";
import { findProjects } from "../../client/project.ts";
import { projectFiles } from "../../project/pipelineFiles.ts";

export const taskType = "pipeline";

/** The folder that a task belongs to; undefined for a task of the workspace or of the user. */
export function folderOf({ scope }: Task): WorkspaceFolder | undefined {
  return typeof scope === "object" ? scope : undefined;
}

export interface TaskProviderDeps {
  /** The window's folders on this machine; none in an untrusted workspace. */
  readonly folders: () => readonly WorkspaceFolder[];
  /** Creates the editor's task for a definition. @param folder undefined for a task of no folder. */
  readonly makeTask: (definition: TaskDefinition, folder: WorkspaceFolder | undefined, name: string) => Task;
}

/** The pipelines of the window's projects as tasks; sends no request. */
export function taskProvider({ folders, makeTask }: TaskProviderDeps) {
  return {
    provideTasks: async (): Promise<Task[]> => {
      const all = folders();
      const names = new Set<string>();
      const tasks: Task[] = [];
      for (const project of await findProjects(all.map(({ uri }) => uri.fsPath))) {
        const folder = all.find(({ uri }) => uri.fsPath === project.folder);
        for (const [name, files] of Map.groupBy(await projectFiles(project.root), (file) => file.name)) {
          // Tasks of equal definitions are one to the editor: an earlier folder may have a pipeline of this name.
          const others = names.has(name) ? { project: project.name } : {};
          names.add(name);
          const task = makeTask({ type: taskType, pipeline: name, ...others }, folder, name);
          task.detail = files.map(({ path }) => path).join(", ");
          tasks.push(task);
        }
      }
      return tasks;
    },
    /** A task from `tasks.json`, whose definition is kept as written. */
    resolveTask: (task: Task): Task => makeTask(task.definition, folderOf(task), task.name),
  };
}

/** The task of a start; "unknown" if one of an equal definition is active, and undefined if the editor names none. */
type StartedTask = Task | "unknown" | undefined;

/**
 * Which task a start is of. The editor takes tasks of equal definitions for one, also those of two folders, and calls the
 * execution of the latest; only the event that follows at once names the task, and not while another of them is active.
 */
export class TaskStarts {
  readonly #begun: {
    readonly definition: TaskDefinition;
    readonly resolve: (task: StartedTask) => void;
  }[] = [];
  readonly #active = new Set<TaskExecution>();

  /**
   * Notes that the editor has called a task's execution.
   * @param definition as the execution got it.
   * @returns what gives the task, once its terminal is open.
   */
  begin(definition: TaskDefinition): () => Promise<StartedTask> {
    const { promise, resolve } = Promise.withResolvers<StartedTask>();
    this.#begun.push({ definition, resolve });
    return () => Promise.race([promise, nextTurn(undefined)]);
  }

  /** Notes the editor's event. @param execution of this extension's type; maybe of a task that another extension executes by itself. */
  note(execution: TaskExecution): void {
    const { task } = execution;
    const same = this.#begun.findIndex(({ definition }) =>
      isDeepStrictEqual({ ...definition }, { ...task.definition }),
    );
    // The execution gets variables such as `${workspaceFolder}` replaced.
    const [start] = this.#begun.splice(Math.max(0, same), 1);
    // The editor reports the second start of such tasks as the first's execution, with the first's task.
    start?.resolve(this.#active.has(execution) ? "unknown" : task);
    this.#active.add(execution);
  }

  /** Notes that an execution has ended. */
  end(execution: TaskExecution): void {
    this.#active.delete(execution);
  }
}
