import type { Task, TaskDefinition, TaskProvider, WorkspaceFolder } from "vscode";
import { projectFiles } from "../../client/pipelineFiles/projectFiles.ts";
import { findProject } from "../../client/project.ts";
import { taskType } from "./taskDefinition.ts";

export interface TaskProviderDeps {
  /** The window's folders on this machine; none in a workspace that isn't trusted. */
  readonly folders: () => readonly WorkspaceFolder[];
  /** Makes the editor's task, which runs the definition's pipeline. @param folder undefined for one of no folder. */
  readonly makeTask: (definition: TaskDefinition, folder: WorkspaceFolder | undefined, name: string) => Task;
}

/** The pipelines of the window's projects as tasks. It reads their files, and asks no service. */
export class PipelineTaskProvider implements TaskProvider {
  readonly #deps: TaskProviderDeps;

  constructor(deps: TaskProviderDeps) {
    this.#deps = deps;
  }

  async provideTasks(): Promise<Task[]> {
    const seen = new Set<string>();
    const tasks: Task[] = [];
    for (const folder of this.#deps.folders()) {
      const project = await findProject(folder.uri.fsPath);
      // Two folders of the window may be of one project.
      if (project === undefined || seen.has(project.root)) continue;
      seen.add(project.root);
      const files = await projectFiles(project.root);
      for (const name of new Set(files.map((file) => file.name))) {
        const task = this.#deps.makeTask({ type: taskType, pipeline: name }, folder, name);
        task.detail = files
          .filter((file) => file.name === name)
          .map(({ path }) => path)
          .join(", ");
        tasks.push(task);
      }
    }
    return tasks;
  }

  /** A task that stands in a `tasks.json`, which the editor wants to run: its definition stays as it is written there. */
  resolveTask({ definition, scope, name }: Task): Task {
    const folder = typeof scope === "object" ? scope : undefined;
    return this.#deps.makeTask(definition, folder, name);
  }
}
