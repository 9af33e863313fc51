import { t } from "@vscode/l10n";
import type { Task, TaskDefinition, TaskProvider, WorkspaceFolder } from "vscode";
import * as z from "zod/mini";
import { findProject, type LocalProject } from "../../client/project.ts";
import { PipelineError } from "../../contract/errors.ts";
import { timeLimit } from "../../contract/limits.ts";
import { startRequestSchema } from "../../contract/run.ts";
import { parseDuration } from "../../pipeline/file/duration.ts";
import { projectFiles } from "../../project/pipelineFiles.ts";

/** The `type` of a task that runs a pipeline. */
export const taskType = "pipeline";

/** A task of `tasks.json`. */
export interface PipelineTask {
  readonly pipeline: string;
  /** A project's name; that of the task's folder, if left out. */
  readonly project: string | undefined;
  /** The pipeline's own limit, if left out. */
  readonly timeLimitSeconds: number | undefined;
}

const definitionSchema = z.looseObject({
  pipeline: startRequestSchema.shape.pipeline,
  project: startRequestSchema.shape.project,
  timeLimit: z.optional(z.union([z.number(), z.string()])),
});

/** Reads a task's definition, unchecked. @throws PipelineError `usage` naming the invalid property. */
export function readTaskDefinition(definition: unknown): PipelineTask {
  const read = definitionSchema.safeParse(definition);
  if (!read.success) {
    const [wrong] = read.error.issues;
    throw unusable(String(wrong?.path[0] ?? "pipeline"));
  }
  const { pipeline, project, timeLimit: written } = read.data;
  const seconds = written === undefined ? undefined : secondsOf(written);
  return { pipeline, project, timeLimitSeconds: seconds };
}

function secondsOf(written: number | string): number {
  const seconds = (parseDuration(written) ?? Number.NaN) / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= timeLimit.atMost) return seconds;
  throw unusable("timeLimit");
}

function unusable(property: string): PipelineError {
  const next =
    property === "timeLimit"
      ? t("A time limit is a whole number of seconds, or a text such as 5m; 1h at most.")
      : t("It should be a name of 1 to 200 characters.");
  return new PipelineError("usage", t("The task's property {0} can't be used.", `"${property}"`), { next });
}

export interface TaskProviderDeps {
  /** The window's folders on this machine; none in a workspace that isn't trusted. */
  readonly folders: () => readonly WorkspaceFolder[];
  /** Creates the editor's task for a definition. @param folder undefined for a task of no folder. */
  readonly makeTask: (definition: TaskDefinition, folder: WorkspaceFolder | undefined, name: string) => Task;
}

/** The pipelines of the window's projects as tasks; sends no request. */
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
      // Two folders may belong to one project.
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

  /** A task of a `tasks.json`, whose definition stays as it is written. */
  resolveTask({ definition, scope, name }: Task): Task {
    const folder = typeof scope === "object" ? scope : undefined;
    return this.#deps.makeTask(definition, folder, name);
  }
}

/**
 * The project of a task: the one that it names, else that of its folder, else the window's first that has the pipeline.
 * @param folder undefined for a task of a workspace or of the user.
 * @returns undefined for a project that is not in this window.
 */
export async function projectOfTask(
  { pipeline, project }: PipelineTask,
  folder: string | undefined,
  folders: readonly string[],
): Promise<LocalProject | undefined> {
  const own = folder === undefined ? undefined : await findProject(folder);
  if (own !== undefined && (project === undefined || project === own.name)) return own;
  const others = (await Promise.all(folders.map(findProject))).filter((found) => found !== undefined);
  if (project !== undefined) return others.find(({ name }) => name === project);
  if (others.length <= 1) return others[0];
  for (const other of others) {
    if ((await projectFiles(other.root)).some(({ name }) => name === pipeline)) return other;
  }
  return others[0];
}
