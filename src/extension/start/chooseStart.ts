import { basename, dirname } from "node:path";
import { t } from "@vscode/l10n";
import type { QuickPickItem, window as vscodeWindow } from "vscode";
import { findProjects, type LocalProject } from "../../client/project.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { PipelineEntry } from "../../contract/pipelines.ts";
import type { StartRequest } from "../../contract/run.ts";
import { listedFiles } from "../../project/pipelineFiles.ts";
import { FileProblem, Untrusted } from "../announce/notices.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { Session } from "../session/session.ts";
import { chosenFrom } from "../window/chosenFrom.ts";
import { inOneLine, withoutIcons } from "../window/plainWindow.ts";
import { type AskedInputs, type AskInputsDeps, withInputs } from "./askInputs.ts";
import type { LastUsed } from "./lastUsed.ts";
import { type RunArgument, readRunArgument } from "./runArgument.ts";

export interface ChooseStartDeps extends AskInputsDeps {
  readonly session: Pick<Session, "connect">;
  readonly projectNames: Pick<ProjectNames, "register">;
  readonly lastUsed: LastUsed;
  /** Saves edited files, since a run uses files as saved. */
  readonly saveFiles: () => Thenable<unknown>;
  readonly folders: () => readonly string[];
  readonly isTrusted: () => boolean;
  /**
   * Whether to take the window's first pipeline of the name, and none elsewhere on this machine: for a task, which may run
   * unattended.
   */
  readonly takesFirst?: boolean;
}

/**
 * Finds out what to start and with which inputs: the pipeline that the argument names, else one of the window's projects that the
 * person picks, or a name that they type.
 * @param given see {@link readRunArgument}.
 * @returns undefined if the person cancels.
 * @throws `Untrusted`; a `FileProblem` for a broken file; PipelineError as `readRunArgument`, `Session.connect` and
 * `ServiceClient`.
 */
export async function chooseStart(
  deps: ChooseStartDeps,
  title: string,
  given: unknown,
  which: AskedInputs = "missing",
): Promise<ChosenStart | undefined> {
  const request = readRunArgument(given);
  if (!deps.isTrusted()) throw new Untrusted();
  const connecting = deps.session.connect(deps.signal, "asked");
  const [client] = await Promise.all([connecting, deps.saveFiles()]);
  const folders = request.kind === "file" ? [folderOf(request.path)] : deps.folders();
  const projects = await registeredProjects(client, folders, deps);
  const entries = await pipelinesToChoose(request, client, projects, deps);
  const entry = await choosePipeline(request, entries, title, deps);
  if (entry === undefined) return undefined;
  const start = toChosenStart(entry, entries.includes(entry), request, projects, deps);
  if (entry.problem !== undefined) {
    const message = t("The pipeline file can't be run:\n{0}", entry.problem);
    throw new FileProblem(start.root, message, { next: t("Correct the file, then run it again.") });
  }
  const complete = await withInputs(start, entry.inputs, which, deps);
  // Not awaited: the start doesn't depend on it.
  if (complete !== undefined) deps.lastUsed.note(start.project, start.pipeline);
  return complete;
}

/**
 * The pipelines to choose from: those of the window's folders, which this machine's own service reads too. A service elsewhere
 * may have more, and is asked if they matter.
 */
async function pipelinesToChoose(
  request: RunArgument,
  client: ServiceClient,
  projects: readonly LocalProject[],
  { lastUsed, signal, takesFirst = false }: ChooseStartDeps,
): Promise<readonly PipelineEntry[]> {
  const isHere = client.environment !== undefined;
  const local = await localPipelines(projects, isHere);
  const isNamedHere = request.kind !== "pick" && meantBy(request, local).length > 0;
  if (local.length > 0 && (isNamedHere || (isHere && request.kind === "pick"))) return local;
  const named = request.kind === "named" ? request.start.project : undefined;
  if (takesFirst && isHere && named === undefined) return local;
  const names = named === undefined ? projects.map(({ name }) => name) : [named];
  const listed = await listPipelines(client, names, signal);
  const used = isHere && listed.length > 0 ? [] : lastUsed.entries();
  const known = [...local];
  for (const entry of [...listed, ...used]) {
    const isSame = ({ name, project }: PipelineEntry) =>
      name === entry.name && project === (entry.project ?? project);
    if (!known.some(isSame)) known.push(entry);
  }
  return known;
}

/** The pipeline that the argument names, which may be one of the entries; if it names none or is ambiguous, the person picks. */
async function choosePipeline(
  request: RunArgument,
  entries: readonly PipelineEntry[],
  title: string,
  deps: ChooseStartDeps,
): Promise<PipelineEntry | undefined> {
  const meant = meantBy(request, entries);
  const [entry, other] = meant;
  if (request.kind === "pick" || (other !== undefined && deps.takesFirst !== true)) {
    return pickPipeline(deps.lastUsed.order(meant), deps.window, title);
  }
  if (entry !== undefined) return entry;
  if (request.kind === "named") return { name: request.start.pipeline };
  return { name: request.pipeline ?? basename(request.path, ".yaml") };
}

/** The pipelines that the argument may mean; all of them if the person picks. */
function meantBy(request: RunArgument, entries: readonly PipelineEntry[]): readonly PipelineEntry[] {
  switch (request.kind) {
    case "pick":
      return entries;
    case "file":
      return entries.filter(({ path }) => path === `pipelines/${basename(request.path)}`);
    case "named": {
      const { pipeline, project } = request.start;
      return entries.filter(
        (entry) => entry.name === pipeline && (project === undefined || entry.project === project),
      );
    }
  }
}

/** The folder of the project that a pipeline file belongs to. */
function folderOf(path: string): string {
  if (basename(dirname(path)) !== "pipelines" || !path.endsWith(".yaml")) {
    throw new PipelineError("invalid-request", t("{0} is not a pipeline file.", basename(path)), {
      next: t("A project's pipelines are the files pipelines/*.yaml in its folder."),
    });
  }
  return dirname(dirname(path));
}

/** The projects of the folders, under the service's names for them. */
async function registeredProjects(
  client: ServiceClient,
  folders: readonly string[],
  { projectNames }: ChooseStartDeps,
): Promise<LocalProject[]> {
  const known: LocalProject[] = [];
  // One after the other, so that of two folders of the same name the same one always comes first.
  for (const project of await findProjects(folders)) known.push(await projectNames.register(client, project));
  return known;
}

/** The service's pipelines of these projects, or of the whole org if there are none; empty if they can't be listed. */
async function listPipelines(
  client: ServiceClient,
  projects: readonly string[],
  signal: AbortSignal,
): Promise<PipelineEntry[]> {
  const names = projects.length === 0 ? [undefined] : projects;
  try {
    const lists = await Promise.all(names.map((name) => client.pipelines(name, signal)));
    return lists.flatMap(({ pipelines }) => pipelines);
  } catch (error) {
    // Ignored: a start by name reports what is wrong.
    if (error instanceof PipelineError) return [];
    throw error;
  }
}

/** The pipelines of the window's own files. @param hasProblems whether to include the files' problems. */
async function localPipelines(
  projects: readonly LocalProject[],
  hasProblems: boolean,
): Promise<PipelineEntry[]> {
  const lists = await Promise.all(
    projects.map(async ({ name: project, root }) =>
      (await listedFiles(root)).map(
        (file): PipelineEntry =>
          // A service elsewhere may know the pipeline by another file, and its inputs.
          file.problem === undefined || hasProblems
            ? { ...file, project }
            : { name: file.name, path: file.path, project },
      ),
    ),
  );
  return lists.flat();
}

function toChosenStart(
  entry: PipelineEntry,
  isListed: boolean,
  request: RunArgument,
  projects: readonly LocalProject[],
  { takesFirst = false }: ChooseStartDeps,
): ChosenStart {
  const asked: Partial<StartRequest> = request.kind === "named" ? request.start : {};
  const [only, other] = projects;
  const typed = asked.project ?? (other === undefined || takesFirst ? only?.name : undefined);
  const project = isListed ? entry.project : typed;
  const root = projects.find(({ name }) => name === project)?.root;
  return { ...asked, pipeline: entry.name, project, root };
}

/** The start that a person chose: the body of the request, and its project's local folder. */
export interface ChosenStart extends StartRequest {
  /** Undefined for a project that isn't in this window. */
  readonly root: string | undefined;
}

interface EntryItem extends QuickPickItem {
  readonly entry: PipelineEntry;
}

/** Lets the person pick a pipeline or type a name. @returns one of the entries, or a new one; undefined if they cancel. */
export async function pickPipeline(
  entries: readonly PipelineEntry[],
  window: Pick<typeof vscodeWindow, "createQuickPick">,
  title: string,
): Promise<PipelineEntry | undefined> {
  const isOneProject = new Set(entries.map(({ project }) => project)).size === 1;
  const listed = entries.map((entry) => listedItem(entry, isOneProject));
  const pick = window.createQuickPick<EntryItem>();
  pick.title = title;
  pick.placeholder =
    entries.length > 0 ? t("Select a pipeline, or type a name") : t("Type a pipeline's name");
  pick.matchOnDescription = true;
  pick.items = listed;
  pick.onDidChangeValue((value) => {
    const name = value.trim();
    const known = name === "" || entries.some((entry) => entry.name === name);
    const typed = { label: withoutIcons(t("Run “{0}”", name)), alwaysShow: true, entry: { name } };
    pick.items = known ? listed : [...listed, typed];
  });
  return (await chosenFrom(pick))?.entry;
}

/** Omits a project that all rows share, and a file named after its pipeline, so that a row has one line. */
function listedItem(entry: PipelineEntry, isOneProject: boolean): EntryItem {
  const { name, project, path, problem } = entry;
  const where = [
    ...(isOneProject || project === undefined ? [] : [project]),
    ...(path === undefined || path === `pipelines/${name}.yaml` ? [] : [path]),
  ];
  return {
    label: `${problem === undefined ? "" : "$(warning) "}${withoutIcons(name)}`,
    description: withoutIcons(where.join(" · ")),
    ...(problem === undefined ? {} : { detail: withoutIcons(inOneLine(problem)) }),
    entry,
  };
}
