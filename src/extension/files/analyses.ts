import { posix } from "node:path";
import type { TextDocument, Uri } from "vscode";
import type { Clock } from "../../machine/clock.ts";
import { type Outline, outlineOf } from "../../pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../pipeline/editing/problemSpan.ts";
import type { ProjectAround } from "../../pipeline/editing/suggest.ts";
import type { Fix, Problem, Span } from "../../pipeline/mistakes/problem.ts";
import { parsePipeline } from "../../pipeline/parsePipeline.ts";
import type { ParsedPipeline } from "../../pipeline/pipeline.ts";
import { type ProjectFile, type ReadPipeline, withSharedNames } from "../../project/pipelineFiles.ts";

/** A pipeline file's text with its outline and its problems. */
export interface Analysis {
  readonly text: string;
  readonly outline: Outline;
  readonly parsed: ParsedPipeline;
}

/** The project around an open document, and the current text of an included file, with unsaved changes. */
export interface Projects {
  readonly around: (uri: Uri) => ProjectAround;
  readonly partOf: (uri: Uri, path: string) => { readonly uri: Uri; readonly text: string } | undefined;
}

/** The analysis of each open document, made once per version. */
export class Analyses {
  readonly around: Projects["around"];
  readonly partOf: Projects["partOf"];
  #known = new WeakMap<TextDocument, { readonly version: number; readonly analysis: Analysis }>();

  constructor({ around, partOf }: Projects) {
    this.around = around;
    this.partOf = partOf;
  }

  of(document: TextDocument): Analysis {
    const known = this.#known.get(document);
    if (known?.version === document.version) return known.analysis;
    const analysis = analyse(document.getText(), document.uri.path, this.around(document.uri));
    this.#known.set(document, { version: document.version, analysis });
    return analysis;
  }

  /** Forgets all analyses: an included file has changed. */
  forget(): void {
    this.#known = new WeakMap();
  }
}

export function analyse(
  written: string,
  path: string,
  { readPart, isThere }: Pick<ProjectAround, "readPart" | "isThere"> = {},
): Analysis {
  // The editor's texts have no byte-order mark, and problems don't count it.
  const text = written.replace(/^\uFEFF/, "");
  return { text, outline: outlineOf(text, readPart), parsed: parsePipeline(text, path, readPart, isThere) };
}

/** The paths of the files that a file includes. Those that included files include are known only if it has no problem. */
export function partsOf({ outline, parsed }: Pick<Analysis, "outline" | "parsed">): readonly string[] {
  const inner = parsed.kind === "valid" ? [...parsed.parts.keys()] : [];
  const own = outline.steps.flatMap(({ include }) => include?.text ?? []);
  // The path may be written as `./parts/a.yaml`.
  return [...own, ...inner].map((path) => posix.normalize(path));
}

/** Whether a change of the file at a path may change the problems of an analysed file. */
export function dependsOn(analysis: Pick<Analysis, "outline" | "parsed">, path: string): boolean {
  const parts = partsOf(analysis);
  return parts.includes(path) || (analysis.parsed.kind === "invalid" && parts.length > 0);
}

/** A position as the editor counts: both from 0, characters in UTF-16 units. */
export interface TextPosition {
  readonly line: number;
  readonly character: number;
}

/** A problem of a pipeline file as the editor underlines it. */
export interface ShownProblem {
  readonly message: string;
  /** A warning: the pipeline can still run. */
  readonly isWarning?: boolean;
  readonly from: TextPosition;
  readonly to: TextPosition;
}

function shownProblem({ text, outline }: Analysis, problem: Problem): ShownProblem {
  const { start, end } = problemSpan(text, outline.tree, problem);
  return { message: problem.message, from: positionAt(text, start), to: positionAt(text, end) };
}

/** The fix for the problem shown at a span; undefined if there is none. */
export function fixFor({ text, outline, parsed }: Analysis, span: Span, message: string): Fix | undefined {
  const problems = parsed.kind === "invalid" ? parsed.problems : [];
  const problem = problems.find(
    (other) => other.message === message && problemSpan(text, outline.tree, other).start === span.start,
  );
  return problem && fixOf(text, span, problem);
}

export function positionAt(text: string, offset: number): TextPosition {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
}

export interface FileProblemsDeps {
  /** Replaces the shown problems of a file, by its address. */
  readonly show: (uri: string, problems: readonly ShownProblem[]) => void;
  readonly clock: Pick<Clock, "after">;
  /** Called when the known files or their contents have changed. */
  readonly onChange: () => void;
}

/** In milliseconds, after the last key. */
const typingPause = 250;

interface KnownFile {
  readonly project: string;
  /** Whether the file is only included by others and isn't a pipeline by itself. */
  readonly isPart: boolean;
  readonly analysis: Analysis;
}

/** The problems of every pipeline file in the window's projects, updated as files are typed in or change on disk. */
export function fileProblems({ show, clock, onChange }: FileProblemsDeps) {
  const files = new Map<string, KnownFile>();
  const shown = new Map<string, string>();
  /** By the file's address: cancels the delayed reading of a document that is being typed in. */
  const typing = new Map<string, () => void>();
  /** Shows only changes, since the editor redraws everything that it is given. */
  const showOf = (uri: string, problems: readonly ShownProblem[]) => {
    const told = JSON.stringify(problems);
    if ((shown.get(uri) ?? "[]") === told) return;
    if (problems.length === 0) shown.delete(uri);
    else shown.set(uri, told);
    show(uri, problems);
  };
  const showAll = (uri: string, analysis: Analysis, parsed: Analysis["parsed"]) => {
    const isWarning = parsed.kind === "valid";
    const problems = isWarning ? parsed.warnings : parsed.problems;
    const told = problems.map((problem) => ({
      ...shownProblem(analysis, problem),
      ...(isWarning && { isWarning }),
    }));
    showOf(uri, told);
  };
  /** During `inOneUpdate`: the projects to show when it ends. */
  let batched: Set<string> | undefined;
  /** If two files share a name, both have a problem, so a project's files are shown together. */
  const showProject = (project: string) => {
    if (batched !== undefined) {
      batched.add(project);
      return;
    }
    const ofProject = [...files].filter(([, file]) => file.project === project);
    for (const [uri, { analysis, isPart }] of ofProject) if (isPart) showAll(uri, analysis, analysis.parsed);
    const known = ofProject.filter(([, { isPart }]) => !isPart);
    const named = known.map(([uri, { analysis }]): ProjectFile => {
      const { parsed, text } = analysis;
      const fileName = posix.basename(decodeURIComponent(uri));
      const name = parsed.kind === "valid" ? parsed.pipeline.name : fileName.replace(/\.yaml$/, "");
      return { path: `pipelines/${fileName}`, name, text, parsed };
    });
    const checked = withSharedNames(named);
    for (const [index, [uri, { analysis }]] of known.entries())
      showAll(uri, analysis, checked[index]?.parsed ?? analysis.parsed);
    onChange();
  };
  const remove = (uri: string) => {
    const project = files.get(uri)?.project;
    files.delete(uri);
    showOf(uri, []);
    if (project !== undefined) showProject(project);
  };
  return {
    get files(): ReadonlyMap<string, KnownFile> {
      return files;
    },
    remove,
    /** Shows everything that `act` puts and removes once it ends, even if it fails. */
    inOneUpdate: async (act: () => Promise<void>): Promise<void> => {
      const changed = new Set<string>();
      batched = changed;
      try {
        await act();
      } finally {
        batched = undefined;
        for (const project of changed) showProject(project);
      }
    },
    /** Puts a document that is being typed in, after a pause. */
    typed: (uri: string, put: () => void): void => {
      typing.get(uri)?.();
      typing.set(uri, clock.after(typingPause, put));
    },
    put: (uri: string, project: string, analysis: Analysis, isPart = false): void => {
      files.set(uri, { project, analysis, isPart });
      showProject(project);
    },
    /** Forgets the files of all projects but these. */
    keep: (projects: ReadonlySet<string>): void => {
      for (const [uri, { project }] of files) if (!projects.has(project)) remove(uri);
    },
    dispose: (): void => {
      for (const cancel of typing.values()) cancel();
      typing.clear();
      files.clear();
    },
  };
}

/** The analysis of a file that was read; an unreadable file has an empty text. */
export function analysisOf({ text = "", parsed }: Pick<ReadPipeline, "text" | "parsed">): Analysis {
  return { text, outline: outlineOf(text), parsed };
}
