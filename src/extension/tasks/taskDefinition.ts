import type { Task, TaskDefinition, WorkspaceFolder } from "vscode";
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
