import type { ProjectFile } from "../../client/pipelineFiles/projectFiles.ts";
import type { LocalProject } from "../../client/project.ts";
import type { Run } from "../../contract/run.ts";
import type { Problem } from "../../pipeline/problemList.ts";

/** A project with its files as they were read last. */
export interface ReadProject {
  readonly project: LocalProject;
  readonly files: readonly ProjectFile[];
}

/** The rows of the Pipelines view: the projects where there are several, their files, the files' problems. */
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

  /** Takes what was read; runs that were known stay with their files. */
  update(read: readonly ReadProject[]): void {
    const known = new Set<string>();
    this.#shown = read.map(({ project, files }) => {
      const node: ProjectNode = this.#projects.get(project.root) ?? {
        kind: "project",
        root: project.root,
        name: project.name,
        files: [],
      };
      this.#projects.set(project.root, node);
      node.name = project.name;
      node.files = files.map((file) => {
        const id = `${project.root}/${file.path}`;
        known.add(id);
        return this.#take(id, project, file);
      });
      return node;
    });
    for (const id of this.#files.keys()) if (!known.has(id)) this.#files.delete(id);
    const roots = new Set(read.map(({ project }) => project.root));
    for (const root of this.#projects.keys()) if (!roots.has(root)) this.#projects.delete(root);
  }

  /**
   * Takes the names under which the service knows the projects, and its runs, newest first.
   * @param names by the projects' folders; of a project without one no run is known, since another's may have its name.
   * @returns the files whose last run is another than before.
   */
  takeRuns(runs: readonly Run[], names: ReadonlyMap<string, string>): readonly FileNode[] {
    const latest = new Map<string, Run>();
    for (const run of runs) {
      const key = JSON.stringify([run.project, run.pipeline]);
      if (!latest.has(key)) latest.set(key, run);
    }
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
    const { path } = file;
    const node: FileNode = this.#files.get(id) ?? {
      kind: "file",
      root,
      path,
      pipeline: file.name,
      project: project.name,
      problems: [],
      last: undefined,
    };
    this.#files.set(id, node);
    node.pipeline = file.name;
    const problems = file.parsed.kind === "valid" ? [] : file.parsed.problems;
    node.problems = problems.map(
      (problem, index): ProblemNode => ({ kind: "problem", root, path, index, problem }),
    );
    return node;
  }
}

/** An element of the Pipelines view; one thing stays one object, as in the Runs view. */
export type PipelineNode = ProjectNode | FileNode | ProblemNode;

export interface ProjectNode {
  readonly kind: "project";
  readonly root: string;
  name: string;
  files: readonly FileNode[];
}

export interface FileNode {
  readonly kind: "file";
  /** The project's folder, and the file's path in it with forward slashes. */
  readonly root: string;
  readonly path: string;
  /** For the commands, which get the element itself: the pipeline's name, and its project's as the service knows it. */
  pipeline: string;
  project: string;
  problems: readonly ProblemNode[];
  /** The last of its runs that is known. */
  last: Run | undefined;
}

export interface ProblemNode {
  readonly kind: "problem";
  readonly root: string;
  readonly path: string;
  readonly index: number;
  readonly problem: Problem;
}
