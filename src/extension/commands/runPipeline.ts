import type { window as vscodeWindow } from "vscode";
import { AbsentEndpoint } from "../../client/http/replyError.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { findProject, type LocalProject, registerProject } from "../../client/project.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import type { PipelineEntry } from "../../contract/pipelineList.ts";
import type { LastUsed } from "../lastUsed.ts";
import { type Choice, pickPipeline } from "../pipelinePick.ts";
import { type NoticeDeps, showProblem } from "../problemNotice.ts";
import type { Session } from "../session.ts";
import { type PipelineWish, type StartPipelineDeps, startPipeline } from "../startPipeline.ts";

export interface RunPipelineDeps extends StartPipelineDeps {
  readonly session: Session;
  readonly notice: NoticeDeps;
  readonly window: StartPipelineDeps["window"] &
    Pick<typeof vscodeWindow, "createQuickPick" | "showErrorMessage">;
  readonly lastUsed: LastUsed;
  /** The window's folders on this machine. */
  readonly folders: () => readonly string[];
  readonly isTrusted: () => boolean;
}

/** “Run Pipeline…”: picks a pipeline of the window's projects, or takes a typed name, and starts it. */
export async function runPipeline(deps: RunPipelineDeps): Promise<void> {
  if (!deps.isTrusted()) {
    const trust = "Manage Workspace Trust";
    const chosen = await deps.window.showErrorMessage(
      "Pipelines of a workspace that isn't trusted are not run: their steps run programs.",
      trust,
    );
    if (chosen === trust) await deps.executeCommand("workbench.trust.manage");
    return;
  }
  const client = await deps.session.connect(deps.signal);
  const projects = await makeKnown(client, await localProjects(deps.folders()), deps.signal);
  const entries = await listPipelines(client, projects, deps.signal);
  const choice = await pickPipeline(deps.lastUsed.order(entries), deps.window);
  if (choice === undefined) return;
  const wish = wishOf(choice, projects);
  try {
    if (choice.kind === "listed" && choice.entry.problem !== undefined) {
      throw new PipelineError("invalid-request", `The pipeline file can't be run:\n${choice.entry.problem}`, {
        next: "Correct the file, then run it again.",
      });
    }
    if (wish.project !== undefined) await deps.lastUsed.note(wish.project, wish.pipeline);
    await startPipeline(wish, deps);
  } catch (error) {
    // The notification shows the first problem of a file only.
    deps.log.info(`${wish.pipeline}: ${describeError(error)}`);
    await showProblem(error, deps.notice, wish.root);
  }
}

async function localProjects(folders: readonly string[]): Promise<LocalProject[]> {
  const found = await Promise.all(folders.map(findProject));
  const byRoot = new Map(
    found.filter((project) => project !== undefined).map((project) => [project.root, project]),
  );
  return [...byRoot.values()];
}

/** The window's projects under the names that the service knows them by. */
async function makeKnown(
  client: ServiceClient,
  projects: readonly LocalProject[],
  signal: AbortSignal,
): Promise<LocalProject[]> {
  const known: LocalProject[] = [];
  // One after the other, so that of two folders of one name always the same comes first.
  for (const project of projects) known.push(await registerProject(client, project, signal));
  return known;
}

/** The pipelines of the window's projects; of all the org's when the window has none of its own. */
async function listPipelines(
  client: ServiceClient,
  projects: readonly LocalProject[],
  signal: AbortSignal,
): Promise<PipelineEntry[]> {
  const names = projects.length === 0 ? [undefined] : projects.map(({ name }) => name);
  try {
    const lists = await Promise.all(names.map((name) => client.pipelines(name, signal)));
    return lists.flatMap(({ pipelines }) => pipelines);
  } catch (error) {
    // A service with only the given endpoints: names are typed.
    if (error instanceof AbsentEndpoint) return [];
    throw error;
  }
}

function wishOf(choice: Choice, projects: readonly LocalProject[]): PipelineWish {
  if (choice.kind === "listed") {
    const { name, project } = choice.entry;
    return { pipeline: name, project, root: projects.find((local) => local.name === project)?.root };
  }
  const [only, other] = projects;
  const project = other === undefined ? only : undefined;
  return { pipeline: choice.name, project: project?.name, root: project?.root };
}
