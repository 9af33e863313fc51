import type { Task, TaskDefinition, WorkspaceFolder } from "vscode";
import { findProject } from "../../client/project.ts";
import { projectFiles } from "../../project/pipelineFiles.ts";

export const taskType = "pipeline";

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
      const seen = new Set<string>();
      const tasks: Task[] = [];
      for (const folder of folders()) {
        const project = await findProject(folder.uri.fsPath);
        // Two folders may belong to one project.
        if (project === undefined || seen.has(project.root)) continue;
        seen.add(project.root);
        for (const [name, files] of Map.groupBy(await projectFiles(project.root), (file) => file.name)) {
          const task = makeTask({ type: taskType, pipeline: name }, folder, name);
          task.detail = files.map(({ path }) => path).join(", ");
          tasks.push(task);
        }
      }
      return tasks;
    },
    /** A task from `tasks.json`, whose definition is kept as written. */
    resolveTask: ({ definition, scope, name }: Task): Task =>
      makeTask(definition, typeof scope === "object" ? scope : undefined, name),
  };
}
