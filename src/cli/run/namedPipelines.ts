import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, parse, relative, resolve } from "node:path";
import { isServiceNamed } from "../../client/logins/logins.ts";
import { findProject, misnamedFiles, projectBelow } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { PipelineEntry } from "../../contract/pipelines.ts";
import { shellWord } from "../../contract/refusal.ts";
import { nearestName } from "../../pipeline/mistakes/problem.ts";
import { firstNames } from "../../text/counted.ts";
import type { Tool } from "../tool.ts";

/** Where to find the pipelines to run. */
export interface Where {
  /** Undefined to use only the project's files. */
  readonly client: ServiceClient | undefined;
  /** Undefined outside a project. */
  readonly project: string | undefined;
  readonly root: string | undefined;
}

/** The pipelines that a command line means, by tag or by name. @throws PipelineError as `pipelineNames` and `taggedPipelines`. */
export async function wantedPipelines(
  tool: Tool,
  { client, project, root }: Where,
  named: readonly string[],
  tags: readonly string[] | undefined,
): Promise<readonly string[]> {
  if (tags === undefined) return pipelineNames(tool, named, root);
  if (root !== undefined) return taggedPipelines(await localPipelines(root), tags);
  return taggedPipelines((await client?.pipelines(project, tool.interrupted))?.pipelines ?? [], tags);
}

/**
 * Replaces files that the command line names (`hello.yaml`, `pipelines/hello.yaml`) by their pipelines' names.
 * @throws PipelineError `not-found` for a file of another project.
 */
export async function pipelineNames(
  { folder }: Pick<Tool, "folder">,
  named: readonly string[],
  root: string | undefined,
): Promise<readonly string[]> {
  if (!named.some(isFileName)) return named;
  // The parser of pipeline files takes long to load.
  const { projectFiles } = await import("../../project/pipelineFiles.ts");
  const files = root === undefined ? [] : await projectFiles(root);
  return Promise.all(
    named.map(async (name) => {
      if (!isFileName(name) || files.some((file) => file.name === name)) return name;
      const asked = resolve(folder, name);
      const paths = root === undefined ? [] : [asked, join(root, "pipelines", name)];
      const found = files.find(({ path }) => paths.includes(join(root ?? "", path)))?.name;
      if (found === undefined) await requireNoOthers(asked, { folder, root });
      return found ?? name;
    }),
  );
}

function isFileName(name: string): boolean {
  return /\.ya?ml$/.test(name);
}

/** @throws PipelineError `not-found` for a pipeline file of a project other than `root`. */
async function requireNoOthers(
  file: string,
  { folder, root }: { readonly folder: string; readonly root: string | undefined },
): Promise<void> {
  const above = dirname(file);
  if (basename(above) !== "pipelines" || !existsSync(file)) return;
  const other = await realpath(dirname(above));
  if (root !== undefined && other === (await realpath(root))) return;
  const path = relative(folder, other);
  const shown = path === "" || path.startsWith("..") ? other : path;
  throw new PipelineError("not-found", `${file} is a file of another project, so none was started.`, {
    next: `Go to that project, where its name is \`${parse(file).name}\`: \`cd ${shellWord(shown)}\`.`,
  });
}

/**
 * Checks every pipeline before the first run starts, so that a typo in the last name doesn't use up runs of the day. If the
 * service doesn't list pipelines, its reply to each start tells. That reply is also enough for a single pipeline of a project.
 *
 * @returns `not-found` for unknown names, `invalid-request` for invalid files; undefined if all can be run.
 * @throws the signal's reason.
 */
export async function checkPipelines(
  tool: Tool,
  names: readonly string[],
  { client, project, root }: Where,
): Promise<PipelineError | undefined> {
  const isOutside = project === undefined && !(await isServiceNamed(tool.env));
  const misnamed = await misnamedFiles(tool.folder);
  const isMisnamed = names.some((name) => misnamed.some((path) => isNameOf(path, name)));
  if (names.length === 1 && !isOutside && !isMisnamed) return undefined;
  const served = await listedPipelines(client, project, tool.interrupted);
  // A service that runs pipelines elsewhere knows only those that were started before.
  const isElsewhere = client !== undefined && client.environment === undefined && served.length > 0;
  const hasOwn = root !== undefined && (client === undefined || isElsewhere);
  const listed = hasOwn ? [...served, ...(await localPipelines(root))] : served;
  const wanted = [...new Set(names)];
  const known = new Set(listed.map(({ name }) => name));
  const missing = wanted.filter((name) => !known.has(name));
  if (missing.length > 0 && isOutside) return noPipelinesHere(tool.folder);
  if (listed.length === 0) return undefined;
  if (missing.some((name) => misnamed.some((path) => isNameOf(path, name)))) return misnamedError(misnamed);
  if (missing.length > 0) return noSuchPipelines(missing, [...known]);
  const broken = listed.filter(({ name, problem }) => problem !== undefined && wanted.includes(name));
  if (broken.length === 0) {
    const theirs = listed.filter(({ name }) => wanted.includes(name));
    const places = theirs.map(({ name, project: of }) => `${name} of ${of}`);
    // If several projects have the name, the service asks which one is meant.
    if (isOutside && places.length === wanted.length)
      tool.output.note(
        `There is no pipelines/<name>.yaml here or above, so this runs ${firstNames(places)}.`,
      );
    return undefined;
  }
  const files = broken.length === 1 ? "A pipeline file" : `${broken.length} pipeline files`;
  const problems = broken.map(({ problem }) => problem).join("\n");
  return new PipelineError("invalid-request", `${files} can't be run, so none was started:\n${problems}`, {
    next: "Correct what is wrong, then run them again.",
  });
}

/** The error of a call that names no pipeline; it lists the known ones. */
export async function noneNamed(tool: Tool, project: string | undefined): Promise<PipelineError> {
  const isElsewhere = project !== undefined || (await isServiceNamed(tool.env));
  const here = isElsewhere ? undefined : await findProject(tool.folder);
  if (!isElsewhere && here === undefined) return noPipelinesHere(tool.folder, "usage");
  const listed =
    here === undefined
      ? await listedPipelines(tool.connect(), project, tool.interrupted)
      : await localPipelines(here.root);
  const names = [...new Set(listed.map(({ name }) => name))].sort();
  const [first] = names;
  if (first === undefined) return new PipelineError("usage", "No pipeline is named.");
  return new PipelineError("usage", `No pipeline is named. There are:\n  ${names.join("\n  ")}`, {
    next: `\`pipeline run ${shellWord(first)}\` runs the first.`,
  });
}

/** The error outside any project; it says how to go to one or create one. */
export async function noPipelinesHere(
  folder: string,
  type: "not-found" | "usage" = "not-found",
): Promise<PipelineError> {
  const misnamed = await misnamedFiles(folder);
  if (misnamed.length > 0) return misnamedError(misnamed, type);
  const below = await projectBelow(folder);
  return new PipelineError(type, "There is no pipelines/<name>.yaml here or above.", {
    next:
      below === undefined
        ? `Go to a project's folder, or make this one a project. Such a file is:\n${smallest}`
        : `Try \`cd ${shellWord(below)}\`.`,
  });
}

const smallest = `resources: { shell: { type: cli } }
steps:
  - use: shell
    run: echo hello`;

/** Whether a `.yml` file is meant by a name: its pipeline's or its own. */
function isNameOf(path: string, name: string): boolean {
  const [file, meant] = [path, name].map((one) => basename(one).replace(/\.ya?ml$/i, ""));
  return file === meant;
}

function misnamedError(paths: readonly string[], type: "not-found" | "usage" = "not-found"): PipelineError {
  return new PipelineError(type, misnamedText(paths), { next: "" });
}

/** Says what to do about files that end with `.yml`. */
export function misnamedText(paths: readonly string[]): string {
  return `A pipeline file's name ends with .yaml: rename ${paths.join(", ")}.`;
}

export async function listedPipelines(
  client: ServiceClient | Promise<ServiceClient> | undefined,
  project: string | undefined,
  signal: AbortSignal,
): Promise<readonly PipelineEntry[]> {
  try {
    return (await (await client)?.pipelines(project, signal))?.pipelines ?? [];
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PipelineError) return [];
    throw error;
  }
}

/** The pipelines of the project's files. */
export async function localPipelines(root: string): Promise<readonly PipelineEntry[]> {
  // The parser of pipeline files takes long to load.
  const { listedFiles } = await import("../../project/pipelineFiles.ts");
  return listedFiles(root);
}

/**
 * The names of the pipelines that have one of the tags, in the listed order.
 * @param listed the project's files; outside a project, the pipelines that the service knows.
 * @throws PipelineError `not-found` if no pipeline has a tag; `invalid-request` if a file can't be run: its tags aren't known,
 * and a run by tag shouldn't miss a pipeline.
 */
function taggedPipelines(listed: readonly PipelineEntry[], tags: readonly string[]): readonly string[] {
  const broken = listed.filter(({ problem }) => problem !== undefined);
  if (broken.length > 0) {
    const problems = broken.map(({ problem }) => problem).join("\n");
    throw new PipelineError("invalid-request", `${untoldTags(broken)} None was started:\n${problems}`, {
      next: "Correct what is wrong, then run them again.",
    });
  }
  const untagged = tags.filter((tag) => !listed.some((entry) => hasTag(entry, [tag])));
  if (untagged.length > 0) {
    const which = untagged.map((tag) => `\`${tag}\``).join(", nor ");
    throw new PipelineError("not-found", `No pipeline has the tag ${which}, so none was started.`, {
      next: knownTags(listed),
    });
  }
  return listed.filter((entry) => hasTag(entry, tags)).map(({ name }) => name);
}

/** Whether a pipeline has one of the tags. */
export function hasTag(entry: PipelineEntry, tags: readonly string[]): boolean {
  return tags.some((tag) => entry.tags?.includes(tag));
}

/** A sentence that lists the tags. */
export function knownTags(listed: readonly PipelineEntry[]): string {
  const tags = [...new Set(listed.flatMap((entry) => entry.tags ?? []))].sort();
  return tags.length === 0
    ? "No pipeline has a tag: a file gets them by `tags: [nightly]`."
    : `The tags are: ${tags.join(", ")}.`;
}

/** A sentence that says that the tags of broken files aren't known. */
export function untoldTags(broken: readonly PipelineEntry[]): string {
  const [first, other] = broken.map(({ name, path = name }) => path);
  return other === undefined
    ? `The tags of ${first} aren't known, since it can't be run.`
    : `The tags of ${broken.length} pipelines aren't known, since they can't be run.`;
}

function noSuchPipelines(missing: readonly string[], known: readonly string[]): PipelineError {
  const quoted = missing.map((name) => `\`${name}\``);
  const nearest = missing.map((name) => nearestName(name, known)).filter((name) => name !== undefined);
  const message = `There is no pipeline ${quoted.join(", nor ")}, so none was started.`;
  const next = missing.some((name) => name.includes("="))
    ? "An input is given by `--input`, such as `--input stage=prod`."
    : nearest.length > 0
      ? `Did you mean ${[...new Set(nearest)].map((name) => `\`${name}\``).join(" and ")}?`
      : `There are: ${firstNames(known)}.`;
  return new PipelineError("not-found", message, { next });
}
