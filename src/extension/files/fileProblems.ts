import { posix } from "node:path";
import type { Disposable } from "vscode";
import type { Clock } from "../../machine/clock.ts";
import { outlineOf } from "../../pipeline/editing/outline.ts";
import { type ProjectFile, type ReadPipeline, withSharedNames } from "../../project/pipelineFiles.ts";
import { type Analysis, type ShownProblem, shownProblem } from "./analyses.ts";

export interface FileProblemsDeps {
  /** Replaces the shown problems of a file, by its address. */
  readonly show: (uri: string, problems: readonly ShownProblem[]) => void;
  readonly clock: Pick<Clock, "after">;
  /** The known files, or what is in them, have changed. */
  readonly onChange: () => void;
}

/** In milliseconds, after the last key. */
const typingPause = 250;

interface KnownFile {
  readonly project: string;
  /** Whether it is only included by others, and no pipeline of the project by itself. */
  readonly isPart: boolean;
  readonly analysis: Analysis;
}

/** The problems of every pipeline file of the window's projects, as they are typed or change on the disk. */
export class FileProblems implements Disposable {
  readonly #deps: FileProblemsDeps;
  readonly #files = new Map<string, KnownFile>();
  readonly #shown = new Map<string, string>();
  /** By the file's address: what cancels the reading of a document that is typed in. */
  readonly #typing = new Map<string, () => void>();

  constructor(deps: FileProblemsDeps) {
    this.#deps = deps;
  }

  /** A document that is typed in; its problems show after a pause. */
  typed(uri: string, put: () => void): void {
    this.#typing.get(uri)?.();
    this.#typing.set(uri, this.#deps.clock.after(typingPause, put));
  }

  put(uri: string, project: string, analysis: Analysis, isPart = false): void {
    this.#files.set(uri, { project, analysis, isPart });
    this.#showProject(project);
  }

  remove(uri: string): void {
    const project = this.#files.get(uri)?.project;
    this.#files.delete(uri);
    this.#showOf(uri, []);
    if (project !== undefined) this.#showProject(project);
  }

  /** Forgets the files of all projects but these. */
  keep(projects: ReadonlySet<string>): void {
    for (const [uri, { project }] of this.#files) if (!projects.has(project)) this.remove(uri);
  }

  get files(): ReadonlyMap<string, KnownFile> {
    return this.#files;
  }

  dispose(): void {
    for (const cancel of this.#typing.values()) cancel();
    this.#typing.clear();
    this.#files.clear();
  }

  /** Two files of one name are a problem of both, so a project's files are shown together. */
  #showProject(project: string): void {
    const ofProject = [...this.#files].filter(([, file]) => file.project === project);
    for (const [uri, { analysis, isPart }] of ofProject)
      if (isPart) this.#showAll(uri, analysis, analysis.parsed);
    const known = ofProject.filter(([, { isPart }]) => !isPart);
    const files = known.map(([uri, { analysis }]): ProjectFile => {
      const { parsed, text } = analysis;
      const fileName = posix.basename(decodeURIComponent(uri));
      const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.replace(/\.yaml$/, "");
      return { path: `pipelines/${fileName}`, name, text, parsed };
    });
    for (const [index, { parsed }] of withSharedNames(files).entries()) {
      const file = known[index];
      if (file === undefined) continue;
      const [uri, { analysis }] = file;
      this.#showAll(uri, analysis, parsed);
    }
    this.#deps.onChange();
  }

  #showAll(uri: string, analysis: Analysis, parsed: Analysis["parsed"]): void {
    const isWarning = parsed.kind === "valid";
    const problems = isWarning ? parsed.warnings : parsed.problems;
    this.#showOf(
      uri,
      problems.map((problem) => ({ ...shownProblem(analysis, problem), ...(isWarning && { isWarning }) })),
    );
  }

  /** Only changes, since the editor redraws all that it is given. */
  #showOf(uri: string, problems: readonly ShownProblem[]): void {
    const told = JSON.stringify(problems);
    if ((this.#shown.get(uri) ?? "[]") === told) return;
    if (problems.length === 0) this.#shown.delete(uri);
    else this.#shown.set(uri, told);
    this.#deps.show(uri, problems);
  }
}

/** The analysis of a file that was read; an unreadable one has no text. */
export function analysisOf({ text: written = "", parsed }: Pick<ReadPipeline, "text" | "parsed">): Analysis {
  const text = written.replace(/^\uFEFF/, "");
  return { text, outline: outlineOf(text), parsed };
}
