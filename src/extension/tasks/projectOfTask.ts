import { projectFiles } from "../../client/pipelineFiles/projectFiles.ts";
import { findProject, type LocalProject } from "../../client/project.ts";
import type { PipelineTask } from "./taskDefinition.ts";

/**
 * The project whose pipeline a task means: the one that it names, else that of the folder whose task it is, else the
 * first of the window's that has such a pipeline.
 * @param folder undefined for a task of a whole workspace, or of the person's own.
 * @returns undefined for a project that isn't in this window.
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
