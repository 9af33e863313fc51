import { posix } from "node:path";
import type { TextDocument, Uri } from "vscode";
import { type Outline, outlineOf } from "../../pipeline/editing/outline.ts";
import { fixOf, problemSpan } from "../../pipeline/editing/problemSpan.ts";
import type { ProjectAround } from "../../pipeline/editing/suggest.ts";
import type { Fix, Problem, Span } from "../../pipeline/mistakes/problem.ts";
import { parsePipeline } from "../../pipeline/parsePipeline.ts";
import type { ParsedPipeline } from "../../pipeline/pipeline.ts";

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

export function shownProblem({ text, outline }: Analysis, problem: Problem): ShownProblem {
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
