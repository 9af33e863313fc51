import type { Run } from "../../contract/run.ts";
import type { Problem } from "../../pipeline/problemList.ts";

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
