import { posix } from "node:path";
import type { Clock } from "../../machine/clock.ts";
import { outlineOf } from "../../pipeline/editing/outline.ts";
import { type ProjectFile, type ReadPipeline, withSharedNames } from "../../project/pipelineFiles.ts";
import { type Analysis, type ShownProblem, shownProblem } from "./analyses.ts";

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
