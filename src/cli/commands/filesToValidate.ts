import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type ProjectFile, projectFiles, withSharedNames } from "../../client/pipelineFiles/projectFiles.ts";
import { type ReadPipeline, readPipelineFile } from "../../client/pipelineFiles/readPipelineFile.ts";
import { findProject, type LocalProject } from "../../client/project.ts";
import { PipelineError } from "../../contract/errors.ts";
import { visible } from "../../contract/visible.ts";
import { nearestName } from "../../pipeline/nearestName.ts";

export interface FileToValidate extends ReadPipeline {
  /** As people are shown it: as they named it, else from the folder that they stand in. */
  readonly path: string;
}

/**
 * Reads the files that the arguments mean: paths of files, and names of the project's pipelines; without any, every
 * file of the project. A file is there once, however often it is named.
 * @param folder the one that the person stands in.
 * @throws PipelineError `not-found` for what isn't there, `usage` for a folder.
 */
export async function filesToValidate(folder: string, args: readonly string[]): Promise<FileToValidate[]> {
  const project = await findProject(folder);
  const found: FileToValidate[][] = [];
  if (args.length === 0) found.push(await wholeProject(folder, project));
  for (const argument of args) found.push(await filesOf(folder, argument, project));
  const files = new Map<string, FileToValidate>();
  for (const file of found.flat()) {
    const place = resolve(folder, file.path);
    if (!files.has(place)) files.set(place, file);
  }
  return [...files.values()];
}

async function wholeProject(folder: string, project: LocalProject | undefined): Promise<FileToValidate[]> {
  if (project !== undefined) return filesIn(folder, project.root);
  throw new PipelineError("not-found", "No pipelines/*.yaml is here or in a folder above.", {
    next: "Name a file, or stand in a project's folder.",
  });
}

async function filesOf(
  folder: string,
  argument: string,
  project: LocalProject | undefined,
): Promise<FileToValidate[]> {
  const isPath = /[/\\]|\.ya?ml$/i.test(argument);
  const files = isPath || project === undefined ? [] : await filesIn(folder, project.root);
  const named = files.filter((file) => namesOf(file).includes(argument));
  if (named.length > 0) return named;
  const path = resolve(folder, argument);
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (stats instanceof Error) {
    const isAbsent = stats.code === "ENOENT" || stats.code === "ENOTDIR";
    if (!isAbsent) return [{ ...(await readPipelineFile(path)), path: argument }];
    throw isPath ? noSuchFile(argument) : noSuchPipeline(argument, project, files.flatMap(namesOf));
  }
  if (stats.isDirectory()) {
    throw new PipelineError("usage", `${visible(argument)} is a folder.`, {
      next: "Name its files, or stand in it and call `pipeline validate`.",
    });
  }
  return [{ ...(await fileAt(path)), path: argument }];
}

/** A file beside others of a project may have the name of one of them. */
async function fileAt(path: string): Promise<ReadPipeline> {
  const folder = dirname(path);
  const siblings =
    basename(folder) === "pipelines" ? withSharedNames(await projectFiles(dirname(folder))) : [];
  return (
    siblings.find((file) => file.path === `pipelines/${basename(path)}`) ?? (await readPipelineFile(path))
  );
}

async function filesIn(folder: string, root: string): Promise<ProjectFile[]> {
  const files = withSharedNames(await projectFiles(root));
  return files.map((file) => ({ ...file, path: relative(folder, join(root, file.path)) }));
}

function namesOf({ name, path }: ProjectFile): string[] {
  return [name, basename(path, ".yaml")];
}

function noSuchFile(path: string): PipelineError {
  return new PipelineError("not-found", `There is no file ${visible(path)}.`, { next: "Check the path." });
}

function noSuchPipeline(
  name: string,
  project: LocalProject | undefined,
  names: readonly string[],
): PipelineError {
  if (project === undefined) {
    return new PipelineError("not-found", `There is no file ${visible(name)}, and no project here.`, {
      next: "Check the path, or stand in a project's folder to name its pipelines.",
    });
  }
  const nearest = nearestName(name, names);
  return new PipelineError(
    "not-found",
    `There is no pipeline \`${visible(name)}\` in the project \`${visible(project.name)}\`.`,
    {
      next: nearest === undefined ? "Name a file by its path." : `Did you mean \`${visible(nearest)}\`?`,
    },
  );
}
