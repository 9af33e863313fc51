import { PipelineError } from "../../contract/errors.ts";
import { meantSteps } from "../../contract/fromStep.ts";
import type { InputValues, Project, ServedPipelineEntry } from "../../contract/pipelines.ts";
import type { RanPipeline, StartRequest } from "../../contract/run.ts";
import { declaredInputs, requireInputs } from "../../pipeline/inputs.ts";
import { nearestName, type Problem } from "../../pipeline/mistakes/problem.ts";
import type { ParsedPipeline, Pipeline, PipelineOrProblems } from "../../pipeline/pipeline.ts";
import { skippedUse } from "../../pipeline/stepToResumeAt.ts";
import {
  checkedFiles,
  listedFacts,
  mayDefine,
  mayInclude,
  type ProjectFile,
  parseWithParts,
  problemsOf,
  projectFiles,
  withEnvFile,
} from "../../project/pipelineFiles.ts";
import { firstNames } from "../../text/counted.ts";
import { listProjects } from "../store/projects.ts";
import type { Database } from "../store/tables.ts";
import type { Work } from "./runs.ts";

interface FoundFile extends ProjectFile {
  readonly project: Project;
}

/** A pipeline that a start request names, ready to run. */
export interface FoundPipeline {
  readonly project: string;
  readonly pipeline: Pipeline;
  /** Complete, except for those that the run evaluates when it begins. */
  readonly inputs: InputValues;
  readonly work: Work;
}

/** Where the pipelines of an org are: in folders of this machine, or in the database. */
export interface Pipelines {
  /** Every pipeline of the org, or of its project, also the broken ones. */
  list(orgId: string, project: string | undefined): Promise<readonly ServedPipelineEntry[]>;
  /**
   * @throws PipelineError `not-found` naming the nearest; `invalid-request` with file, line and column of every problem, or for
   *   inputs that don't fit; `conflict` when several have the name.
   */
  find(orgId: string, request: StartRequest): Promise<FoundPipeline>;
}

export function folderPipelines(db: Database, files = new ProjectPipelines()): Pipelines {
  return {
    list: async (orgId, project) => files.list(await listProjects(db, orgId, project)),
    async find(orgId, { pipeline: name, project: projectName, fromStep, environment, inputs: given }) {
      const projects = await listProjects(db, orgId, projectName);
      if (projects.length === 0) throw noSuchProject(projectName);
      const { project, pipeline, source } = await files.find(projects, name);
      requireStep(pipeline, fromStep);
      const inputs = fixedInputs(pipeline, given);
      const { name: projectOf, root } = project;
      const work = {
        root,
        project: projectOf,
        pipeline,
        source,
        inputs,
        ...(environment && { environment }),
        fromStep,
      };
      return { project: projectOf, pipeline, inputs, work };
    },
  };
}

/**
 * @throws PipelineError `invalid-request` when no step has the name, listing all; when several have it, listing their numbers;
 *   or when a later step uses the result of a skipped one.
 */
export function requireStep(pipeline: Pipeline, fromStep: string | undefined): void {
  if (fromStep === undefined) return;
  const { name, steps } = pipeline;
  const meant = meantSteps(steps, fromStep);
  const [first] = meant;
  if (first !== undefined && meant.length === 1) {
    const use = skippedUse(pipeline, first);
    if (use === undefined) return;
    throw new PipelineError("invalid-request", `\`${name}\` can't begin with \`${fromStep}\`: ${use}.`, {
      next: "Begin with an earlier step, or run all of it.",
    });
  }
  const list = (texts: readonly unknown[]) => texts.map((text) => `\`${text}\``).join(", ");
  const byId = steps.find(({ id }) => id === fromStep);
  const idOf = byId === undefined ? "" : `; that is the \`id\` of \`${byId.name}\``;
  throw meant.length === 0
    ? new PipelineError("invalid-request", `\`${name}\` has no step \`${fromStep}\`${idOf}.`, {
        next: `Its steps are: ${list(steps.map((step) => step.name))}.`,
      })
    : new PipelineError("invalid-request", `\`${name}\` has several steps named \`${fromStep}\`.`, {
        next: `Name one of them by its number: ${list(meant.map((index) => index + 1))}.`,
      });
}

/** The inputs of a run as they are fixed at its start. @throws PipelineError as `requireInputs`. */
export function fixedInputs(pipeline: Pipeline, given: InputValues = {}): InputValues {
  return requireInputs({ name: pipeline.name, inputs: declaredInputs(pipeline) }, given);
}

function noSuchProject(name: string | undefined): PipelineError {
  return name === undefined
    ? new PipelineError("not-found", "The org has no project yet.", {
        next: "Start the run in a folder that holds pipelines/<name>.yaml.",
      })
    : new PipelineError("not-found", `The org has no project \`${name}\`.`, {
        next: "Start the run in the project's folder once, which makes it known.",
      });
}

/** A read of files that is under way, and the one requested after it. */
interface FolderRead {
  readonly now: Promise<readonly ProjectFile[]>;
  next: Promise<readonly ProjectFile[]> | undefined;
}

/**
 * The pipelines of projects. Their files are read for each request, since people edit them; parsed texts are cached, since
 * most stay the same.
 */
export class ProjectPipelines {
  readonly #parsed = new Map<string, { readonly text: string; readonly parsed: ParsedPipeline }>();
  readonly #reading = new Map<string, FolderRead>();

  /** Every pipeline file of the projects, also the broken ones. A project whose folder is gone has none. */
  async list(projects: readonly Project[]): Promise<ServedPipelineEntry[]> {
    const read = await Promise.all(
      projects.map(async (project) =>
        (await checkedFiles(project.root, this.#parse)).map((file) => ({ project, file })),
      ),
    );
    return read.flat().map(({ project, file }) => ({
      name: file.name,
      project: project.name,
      path: file.path,
      ...listedFacts(file.path, file.parsed),
    }));
  }

  /**
   * The pipeline of a name, ready to run, its file and the project it was found in.
   * @throws PipelineError as {@link Pipelines}.
   */
  async find(
    projects: readonly Project[],
    name: string,
  ): Promise<{
    readonly project: Project;
    readonly pipeline: Pipeline;
    readonly source: RanPipeline;
    readonly warnings: readonly Problem[];
  }> {
    const named = (files: readonly FoundFile[]) => files.filter((each) => each.name === name);
    let files = await this.#read(projects, name);
    if (named(files).length === 0) files = await this.#read(projects);
    const found = named(files);
    const [file, other] = found;
    if (file === undefined) throw noSuchPipeline(name, files, projects);
    if (other !== undefined) {
      const paths = found.map(({ project, path }) => `${project.name}: ${path}`).join(", ");
      throw new PipelineError("conflict", `Several pipelines are named \`${name}\` (${paths}).`, {
        next: "Name the project, or give each file a name of its own.",
      });
    }
    const parsed = await withEnvFile(file.project.root, file.parsed);
    const pipeline = runnable(file.path, parsed);
    const { parts, warnings } = parsed.kind === "valid" ? parsed : { parts: [], warnings: [] };
    const texts = { [file.path]: file.text ?? "", ...Object.fromEntries(parts) };
    return { project: file.project, pipeline, source: { path: file.path, texts }, warnings };
  }

  /** @param name leaves out the files that don't seem to define it. */
  async #read(projects: readonly Project[], name?: string): Promise<FoundFile[]> {
    const read = projects.map(async (project) =>
      (await this.#filesOf(project.root, name)).map((file) => ({ ...file, project })),
    );
    return (await Promise.all(read)).flat();
  }

  /** The files as they are now or later: requests for the same files during a read share the next read. */
  #filesOf(root: string, name: string | undefined): Promise<readonly ProjectFile[]> {
    const key = JSON.stringify([root, name]);
    const reading = this.#reading.get(key);
    if (reading !== undefined) {
      reading.next ??= reading.now.then(
        () => this.#filesOf(root, name),
        () => this.#filesOf(root, name),
      );
      return reading.next;
    }
    const mayBeMeant = name === undefined ? undefined : mayDefine(name);
    const now = projectFiles(root, this.#parse, mayBeMeant).finally(() => this.#reading.delete(key));
    this.#reading.set(key, { now, next: undefined });
    return now;
  }

  readonly #parse = (text: string, file: string): ParsedPipeline => {
    const known = this.#parsed.get(file);
    if (known?.text === text && !mayInclude(text)) return known.parsed;
    const parsed = parseWithParts(text, file);
    this.#parsed.delete(file);
    this.#parsed.set(file, { text, parsed });
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > mostCached && oldest !== undefined) this.#parsed.delete(oldest);
    return parsed;
  };
}

/** The most parsed texts in the cache. */
const mostCached = 500;

export function noSuchPipeline(
  name: string,
  files: readonly { readonly name: string }[],
  projects: readonly Pick<Project, "name">[],
): PipelineError {
  const where = projects.length === 1 ? ` in the project \`${projects[0]?.name}\`` : "";
  const names = files.map((file) => file.name);
  const nearest = nearestName(name, names);
  const next =
    nearest !== undefined
      ? `Did you mean \`${nearest}\`?`
      : names.length > 0
        ? `There are: ${firstNames(names)}.`
        : "Add one as pipelines/<name>.yaml.";
  return new PipelineError("not-found", `There is no pipeline \`${name}\`${where}.`, { next });
}

/** @throws PipelineError `invalid-request` with every problem of the file. */
export function runnable(path: string, parsed: PipelineOrProblems): Pipeline {
  if (parsed.kind === "valid") return parsed.pipeline;
  throw new PipelineError("invalid-request", `The pipeline file can't be run:\n${problemsOf(path, parsed)}`, {
    next: "Correct the file, then run it again.",
  });
}
