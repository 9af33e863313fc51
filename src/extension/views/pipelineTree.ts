import { join } from "node:path";
import { t } from "@vscode/l10n";
import type { LocalProject } from "../../client/project.ts";
import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { Problem } from "../../pipeline/mistakes/problem.ts";
import type { ProjectFile } from "../../project/pipelineFiles.ts";
import { momentText, statusText } from "../window/runText.ts";
import { type Row, type RowContext, statusIcon, type TooltipLine } from "./runRow.ts";

/** A project with its files, as last read. */
export interface ReadProject {
  readonly project: LocalProject;
  readonly files: readonly ProjectFile[];
}

export function tagsOf({ parsed }: ProjectFile): readonly string[] {
  return parsed.kind === "valid" ? (parsed.pipeline.tags ?? []) : [];
}

/** The rows of the Pipelines view: the projects, if there are several, their files, and the files' problems. */
export class PipelineTree {
  readonly #projects = new Map<string, ProjectNode>();
  readonly #files = new Map<string, FileNode>();
  #shown: readonly ProjectNode[] = [];

  get roots(): readonly PipelineNode[] {
    const [only, ...others] = this.#shown;
    return only !== undefined && others.length === 0 ? only.files : this.#shown;
  }

  childrenOf(node: PipelineNode): readonly PipelineNode[] {
    if (node.kind === "project") return node.files;
    return node.kind === "file" ? node.problems : [];
  }

  /** Takes the files that were read; their last runs are kept. */
  update(read: readonly ReadProject[]): void {
    const known = new Set<string>();
    this.#shown = read.map(({ project, files }) => {
      const { root, name } = project;
      const nodes = files.map((file) => {
        const id = `${root}/${file.path}`;
        known.add(id);
        return this.#take(id, project, file);
      });
      const now = { kind: "project", root, name, files: nodes } as const;
      const node: ProjectNode = Object.assign(this.#projects.get(root) ?? {}, now);
      this.#projects.set(root, node);
      return node;
    });
    for (const id of this.#files.keys()) if (!known.has(id)) this.#files.delete(id);
    const roots = new Set(read.map(({ project }) => project.root));
    for (const root of this.#projects.keys()) if (!roots.has(root)) this.#projects.delete(root);
  }

  /**
   * Takes the service's names of the projects, and its runs, newest first.
   * @param names by the projects' folders; a project without a name has no known run.
   * @returns the files whose last run changed.
   */
  takeRuns(runs: readonly Run[], names: ReadonlyMap<string, string>): readonly FileNode[] {
    const oldestFirst = runs.toReversed();
    const latest = new Map(oldestFirst.map((run) => [JSON.stringify([run.project, run.pipeline]), run]));
    const changed: FileNode[] = [];
    for (const file of this.#files.values()) {
      const name = names.get(file.root);
      if (name !== undefined) file.project = name;
      const last = name === undefined ? undefined : latest.get(JSON.stringify([name, file.pipeline]));
      if (last !== file.last) changed.push(file);
      file.last = last;
    }
    return changed;
  }

  #take(id: string, project: LocalProject, file: ProjectFile): FileNode {
    const { root } = project;
    const { path, parsed } = file;
    const problems = parsed.kind === "valid" ? [] : parsed.problems;
    const known = this.#files.get(id) ?? { kind: "file", root, path, project: project.name, last: undefined };
    const node: FileNode = Object.assign(known, {
      pipeline: file.name,
      hasInputs: parsed.kind === "valid" && (parsed.pipeline.inputs ?? []).length > 0,
      tags: tagsOf(file),
      problems: problems.map((problem, index) => ({ kind: "problem", root, path, index, problem }) as const),
    });
    this.#files.set(id, node);
    return node;
  }
}

/** An element of the Pipelines view; each remains the same object, as in the Runs view. */
export type PipelineNode = ProjectNode | FileNode | ProblemNode;

interface ProjectNode {
  readonly kind: "project";
  readonly root: string;
  name: string;
  files: readonly FileNode[];
}

interface FileNode {
  readonly kind: "file";
  /** The project's folder, and the file's path in it with forward slashes. */
  readonly root: string;
  readonly path: string;
  /** For the commands, which receive the element: the pipeline's name, and the service's name of its project. */
  pipeline: string;
  project: string;
  /** Whether its runs take inputs. */
  hasInputs: boolean;
  tags: readonly string[];
  problems: readonly ProblemNode[];
  /** Its last known run. */
  last: Run | undefined;
}

interface ProblemNode {
  readonly kind: "problem";
  readonly root: string;
  readonly path: string;
  readonly index: number;
  readonly problem: Problem;
}

export function pipelineViewRow(node: PipelineNode, seen: RowContext): Row {
  switch (node.kind) {
    case "project":
      return projectRow(node);
    case "file":
      return fileRow(node, seen);
    case "problem":
      return problemRow(node);
  }
}

/** The tooltip of a pipeline file: its path, tags, last result and problems. */
export function fileTooltip({ pipeline, path, tags, problems, last }: FileNode): readonly TooltipLine[] {
  return [
    { name: pipeline, text: path },
    ...(tags.length === 0 ? [] : [{ name: t("Tags"), text: tags.join(", ") }]),
    ...(last === undefined
      ? []
      : [{ name: t("Last run"), text: `${statusText(last.status)} (${last.runId})` }]),
    ...problems.map(({ problem }) => ({ text: `${problem.line}:${problem.column} ${problem.message}` })),
  ];
}

function projectRow({ root, name }: ProjectNode): Row {
  return {
    id: `projects/${root}`,
    label: name,
    description: root,
    icon: { id: "root-folder" },
    folding: "expanded",
    tokens: ["project"],
    spoken: t("Project {0}", name),
  };
}

function fileRow({ root, path, pipeline, hasInputs, problems, last }: FileNode, seen: RowContext): Row {
  const [first] = problems;
  const open = { kind: "open", file: join(root, path) } as const;
  const id = `pipelines/${root}/${path}`;
  if (first !== undefined) {
    const count = problems.length;
    const { message } = first.problem;
    return {
      id,
      label: pipeline,
      description: count === 1 ? message : t("{0} (and {1} more)", message, count - 1),
      icon: { id: "warning", color: "list.warningForeground" },
      folding: "collapsed",
      tokens: ["pipeline", "broken"],
      spoken:
        count === 1
          ? t("{0}, can't be run: {1}", pipeline, message)
          : t("{0}, can't be run, {1} problems, the first: {2}", pipeline, count, message),
      action: open,
    };
  }
  const result = last === undefined ? undefined : resultText(last, seen);
  return {
    id,
    label: pipeline,
    ...(result === undefined ? {} : { description: result }),
    icon: last === undefined ? { id: "circle-large-outline" } : statusIcon(last),
    folding: "none",
    tokens: ["pipeline", "fine", ...(hasInputs ? ["inputs"] : [])],
    spoken:
      result === undefined ? t("{0}, no known runs", pipeline) : t("{0}, last run {1}", pipeline, result),
    action: open,
  };
}

function problemRow({ root, path, index, problem }: ProblemNode): Row {
  const { line, column, message } = problem;
  return {
    id: `pipelines/${root}/${path}/problems/${index}`,
    label: message,
    description: `${line}:${column}`,
    icon: { id: "circle-small" },
    folding: "none",
    tokens: ["problem"],
    spoken: t("Line {0}, column {1}: {2}", line, column, message),
    action: { kind: "open", file: join(root, path), line, column },
  };
}

function resultText(last: NonNullable<FileNode["last"]>, { serviceNow, now }: RowContext): string {
  const status = statusText(last.status);
  const at = last.stoppedAt ?? last.createdAt;
  if (isActive(last) || at === undefined) return status;
  const when = momentText(Date.parse(at) - (serviceNow - now), now);
  return t("{0}, {1}", status, when);
}
