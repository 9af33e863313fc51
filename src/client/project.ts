import { readdir as readdirAndCall, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { PipelineError } from "../contract/errors.ts";
import { pipelineFileName } from "../project/projectFile.ts";
import type { ServiceClient } from "./service/client.ts";
import { isLoopback } from "./service/request.ts";

/** Not from `node:fs/promises`: loading that takes longer than reading folders, and `pipeline run` needs nothing else from it. */
const readdir = promisify(readdirAndCall);

/** A folder whose `pipelines/` holds pipeline files, and its name (contract: "The command-line tool"). */
export interface LocalProject {
  /** The folder's. */
  readonly name: string;
  /** Absolute, as it was opened, which may be by a link. */
  readonly root: string;
}

/** Finds the project that a folder belongs to: the nearest one upward, as git does. @returns undefined if there is none. */
export async function findProject(folder: string): Promise<LocalProject | undefined> {
  return nearest(resolve(folder), pipelineFileName);
}

/** The projects of several folders, in order, each with its folder; each once, even if a link leads to it too. */
export async function findProjects(
  folders: readonly string[],
): Promise<(LocalProject & { readonly folder: string })[]> {
  const found = await Promise.all(folders.map(findProject));
  const projects = new Map<string, LocalProject & { readonly folder: string }>();
  for (const [index, folder] of folders.entries()) {
    const project = found[index];
    if (project === undefined) continue;
    const place = placeOf(project.root);
    if (!projects.has(place)) projects.set(place, { ...project, folder });
  }
  return [...projects.values()];
}

/** The names of pipeline files, and names that were probably meant as such. */
const anyYaml = /^[^.].*\.ya?ml$/is;

async function nearest(root: string, fileName: RegExp): Promise<LocalProject | undefined> {
  if ((await filesOf(root, fileName)).length > 0) return { name: basename(root), root };
  const parent = dirname(root);
  return parent === root ? undefined : nearest(parent, fileName);
}

/** The files of the nearest `pipelines/` that aren't read because they end with `.yml` or `.YAML`, as paths from the folder. */
export async function misnamedFiles(folder: string): Promise<string[]> {
  const found = await nearest(resolve(folder), anyYaml);
  if (found === undefined) return [];
  const names = await filesOf(found.root, anyYaml);
  return names
    .filter((name) => !pipelineFileName.test(name) && !names.includes(name.replace(/ya?ml$/i, "yaml")))
    .map((name) => join(relative(resolve(folder), found.root), "pipelines", name));
}

/** The name of the first project, by name, directly below a folder. @returns undefined if there is none. */
export async function projectBelow(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  for (const name of names.sort()) {
    if ((await filesOf(join(folder, name), pipelineFileName)).length > 0) return name;
  }
  return undefined;
}

/** The names of the matching files in a root's `pipelines/`, sorted. */
async function filesOf(root: string, fileName: RegExp): Promise<string[]> {
  const entries = await readdir(join(root, "pipelines"), { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => fileName.test(entry.name) && !entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/**
 * Registers the project's folder with a service on this machine. A service elsewhere can't read the folder, so it isn't told of
 * it; one whose endpoint is missing or unusable is left alone.
 *
 * @returns the project under the service's name for it, which differs if another folder has the same name, or if the service
 * knows the folder by another path, and the service's path.
 * @throws PipelineError of a service with the endpoint; `out-of-reach`.
 */
export async function registerProject(
  client: ServiceClient,
  project: LocalProject,
  signal: AbortSignal,
): Promise<LocalProject & { readonly servedRoot?: string }> {
  if (!isLoopback(client.baseUrl)) return project;
  try {
    const { name, root: servedRoot } = await client.putProject(project.name, project.root, signal);
    return { name, root: project.root, servedRoot };
  } catch (error) {
    if (error instanceof PipelineError && !thrownTypes.has(error.type)) return project;
    throw error;
  }
}

/** A folder's path without links, by which two paths of one folder are known. */
export function placeOf(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    return folder;
  }
}

const thrownTypes: ReadonlySet<string> = new Set([
  "out-of-reach",
  "invalid-request",
  "conflict",
  "internal",
  "payload-too-large",
]);
