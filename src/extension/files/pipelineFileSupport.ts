import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as vscode from "vscode";
import { describeError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import type { ProjectAround } from "../../pipeline/editing/suggest.ts";
import { parsePipeline } from "../../pipeline/parsePipeline.ts";
import { mayInclude, readPart, readPipelineFile } from "../../project/pipelineFiles.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { RunList } from "../session/runList.ts";
import type { Waits } from "../start/waitNotice.ts";
import { watchProjectFiles } from "../window/watchFiles.ts";
import { Analyses, type Analysis, analysisOf, dependsOn, fileProblems, partsOf } from "./analyses.ts";
import { failedSteps } from "./failedSteps.ts";
import { type FileProject, FileProjects, pathIn } from "./fileProjects.ts";
import { offerLanguage, showFailedStep, showProblems } from "./language.ts";
import { type NamedFile, runLenses } from "./runLenses.ts";

export interface PipelineFileDeps {
  readonly runs: Pick<RunList, "state" | "retain" | "readSteps">;
  readonly waits: Pick<Waits, "current">;
  readonly projectNames: ProjectNames;
  readonly log: Pick<vscode.LogOutputChannel, "warn">;
}

/** The most files of a project that are read without being open. */
const mostFiles = 1_000;
/** How many of them are shown together. Each showing checks all files: if two share a name, both have a problem. */
const shownTogether = 50;

/** The editor's support for pipeline files: problems, language features, code lenses and failed steps. */
export class PipelineFileSupport implements vscode.Disposable {
  readonly #deps: PipelineFileDeps;
  readonly #owned: vscode.Disposable[] = [];
  readonly #analyses = new Analyses({
    around: (uri) => this.#around(uri),
    partOf: (uri, path) => this.#partOf(uri, path),
  });
  readonly #projects: FileProjects;
  readonly #problems: ReturnType<typeof fileProblems>;
  readonly #failed: ReturnType<typeof failedSteps>;
  readonly #lenses: ReturnType<typeof runLenses>;
  /** The current projects' watchers and language features. */
  #ofProjects: readonly vscode.Disposable[] = [];
  /** The language features of included files outside `pipelines/`, for these addresses. */
  #ofParts: { readonly uris: string; readonly offered: vscode.Disposable } | undefined;
  /** The files in `pipelines/` and `parts/`, by project root. A file elsewhere is offered once another file includes it. */
  readonly #includable = new Map<string, Set<string>>();
  /** The addresses of unopened files whose problems depend on their own text alone. */
  readonly #selfContained = new Set<string>();
  /** The addresses of other files that a project's files name, by its root. */
  readonly #referenced = new Map<string, Set<string>>();
  #reading = Promise.resolve();
  /** The projects whose files will be read again. */
  readonly #due = new Set<FileProject>();
  /** Retains the list of runs while a pipeline file is open. */
  #retained: vscode.Disposable | undefined;

  constructor(deps: PipelineFileDeps, memento: vscode.Memento) {
    this.#deps = deps;
    const { workspace } = vscode;
    this.#projects = this.#own(new FileProjects());
    const problems = this.#own(vscode.languages.createDiagnosticCollection("pipeline-runs.problems"));
    const failures = this.#own(vscode.languages.createDiagnosticCollection("pipeline-runs.failures"));
    this.#problems = this.#own(
      fileProblems({
        show: (uri, shown) => showProblems(problems, vscode.Uri.parse(uri), shown),
        clock: systemClock,
        onChange: () => {
          this.#updateParts();
          this.#updateRuns();
        },
      }),
    );
    this.#failed = this.#own(
      failedSteps({
        readSteps: (runId, signal) => deps.runs.readSteps(runId, signal),
        memento,
        show: (uri, failed) => showFailedStep(failures, vscode.Uri.parse(uri), failed),
        log: deps.log,
      }),
    );
    this.#lenses = this.#own(
      runLenses({
        analyses: this.#analyses,
        runs: deps.runs.state,
        waits: deps.waits.current,
        nameOf: (document) => this.#nameOf(document.uri),
      }),
    );
    this.#own(this.#projects.current.observe((current) => this.#begin(current)));
    this.#own(deps.runs.state.observe(() => this.#updateRuns()));
    this.#own(deps.projectNames.changed.subscribe(() => this.#updateRuns()));
    this.#own(workspace.onDidOpenTextDocument((document) => this.#documentChanged(document)));
    this.#own(
      workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.path.endsWith(".yaml"))
          this.#problems.typed(document.uri.toString(), () => this.#documentChanged(document));
      }),
    );
    this.#own(
      workspace.onDidCloseTextDocument(({ uri }) => {
        this.#enqueue(() => this.#readFile(uri));
        this.#partChanged(uri);
        this.#updateRuns();
      }),
    );
    this.#own(workspace.onDidChangeWorkspaceFolders(() => void this.#projects.refresh()));
    this.#own(workspace.onDidGrantWorkspaceTrust(() => void this.#projects.refresh()));
    void this.#projects.refresh();
  }

  dispose(): void {
    this.#retained?.dispose();
    this.#ofParts?.offered.dispose();
    for (const part of this.#ofProjects) part.dispose();
    for (const part of this.#owned.reverse()) part.dispose();
  }

  #own<T extends vscode.Disposable>(part: T): T {
    this.#owned.push(part);
    return part;
  }

  #begin(projects: readonly FileProject[]): void {
    for (const part of this.#ofProjects) part.dispose();
    this.#problems.keep(new Set(projects.map(({ root }) => root.toString())));
    const patterns = projects.map(({ root }) => ({
      scheme: root.scheme,
      pattern: new vscode.RelativePattern(root, "pipelines/*.yaml"),
    }));
    this.#ofProjects = [
      ...(patterns.length === 0 ? [] : [offerLanguage(patterns, this.#analyses, this.#lenses)]),
      ...projects.map((project) =>
        watchProjectFiles(
          project.root,
          () => this.#survey(project),
          (uri) => this.#referenced.get(project.root.toString())?.has(uri.toString()) === true,
        ),
      ),
    ];
    for (const document of vscode.workspace.textDocuments) this.#put(document);
    for (const project of projects) this.#survey(project);
  }

  /** Runs readings of the disk one after the other: they may be costly, and the last must see the current state. */
  #enqueue(act: () => Promise<void> | void): void {
    this.#reading = this.#reading
      .then(act)
      .catch((error: unknown) =>
        this.#deps.log.warn(`Pipeline files could not be read: ${describeError(error)}`),
      );
  }

  /** Reads all files of a project again. */
  #survey(project: FileProject): void {
    if (this.#due.has(project)) return;
    this.#due.add(project);
    this.#enqueue(() => {
      this.#due.delete(project);
      return this.#readFiles(project);
    });
  }

  async #readFiles({ root }: FileProject): Promise<void> {
    this.#analyses.forget();
    this.#referenced.delete(root.toString());
    const known = [...this.#problems.files].filter(([, { project }]) => project === root.toString());
    const uris = new Set(known.map(([uri]) => uri));
    if (root.scheme === "file" && vscode.workspace.isTrusted) {
      const all = new vscode.RelativePattern(root, "{pipelines,parts}/**/*.yaml");
      const includable = await vscode.workspace.findFiles(all, null, mostFiles);
      this.#includable.set(root.toString(), new Set(includable.flatMap((uri) => pathIn(root, uri) ?? [])));
      const pattern = new vscode.RelativePattern(root, "pipelines/*.yaml");
      const found = await vscode.workspace.findFiles(pattern, null, mostFiles);
      if (found.length === mostFiles)
        this.#deps.log.warn(
          `Of the files in ${root.fsPath}/pipelines, ${mostFiles} are read without being open.`,
        );
      for (const uri of found) uris.add(uri.toString());
    }
    const all = [...uris];
    for (let at = 0; at < all.length; at += shownTogether)
      await this.#problems.inOneUpdate(async () => {
        for (const uri of all.slice(at, at + shownTogether)) await this.#readFile(vscode.Uri.parse(uri));
      });
  }

  async #readFile(uri: vscode.Uri): Promise<void> {
    const project = this.#projects.projectOf(uri);
    const open = openDocument(uri);
    if (open !== undefined) {
      this.#put(open);
      return;
    }
    // Unopened files are read only in a trusted workspace, as in the Pipelines view.
    if (!project || project.isRepeated || uri.scheme !== "file" || !vscode.workspace.isTrusted) {
      this.#problems.remove(uri.toString());
      return;
    }
    const address = uri.toString();
    const known = this.#problems.files.get(address)?.analysis;
    const { readPart, isThere } = this.#around(uri);
    const tracked = <T>(others: ((path: string) => T) | undefined) =>
      others &&
      ((path: string) => {
        this.#selfContained.delete(address);
        return others(path);
      });
    const read = await readPipelineFile(uri.fsPath, (text, path) => {
      if (known?.text === text && this.#selfContained.has(address)) return known.parsed;
      this.#selfContained.add(address);
      return parsePipeline(text, path, tracked(readPart), tracked(isThere));
    });
    // The file may have been opened in the meantime, and then its document is newer; or its project may be gone.
    if (openDocument(uri) !== undefined || this.#projects.projectOf(uri) !== project) return;
    if (read.isGone) this.#problems.remove(uri.toString());
    else if (!read.text || read.text !== known?.text || mayInclude(read.text) || !sameFiles(read, known))
      this.#problems.put(uri.toString(), project.root.toString(), analysisOf(read));
  }

  #put(document: vscode.TextDocument): void {
    const { uri } = document;
    const pipelineOf = this.#projects.projectOf(uri);
    const project = pipelineOf ?? this.#projectOfPart(uri);
    if (project === undefined || document.isClosed) return;
    const analysis = this.#analyses.of(document);
    this.#selfContained.delete(uri.toString());
    this.#problems.put(uri.toString(), project.root.toString(), analysis, pipelineOf === undefined);
  }

  #documentChanged(document: vscode.TextDocument): void {
    this.#put(document);
    this.#partChanged(document.uri);
  }

  /** The project whose files include this one. */
  #projectOfPart(uri: vscode.Uri): FileProject | undefined {
    const project = this.#projects.projectAround(uri);
    const path = project && pathIn(project.root, uri);
    return path !== undefined && this.#included(project).has(path) ? project : undefined;
  }

  /** The paths of all files that a project's files include. */
  #included(project: FileProject | undefined): ReadonlySet<string> {
    const root = project?.root.toString();
    return new Set(
      [...this.#problems.files.values()].flatMap(({ project: own, analysis }) =>
        own === root ? partsOf(analysis) : [],
      ),
    );
  }

  /** Offers the language features in open included files, and shows their problems. */
  #updateParts(): void {
    for (const [address, { isPart }] of [...this.#problems.files]) {
      if (isPart && this.#projectOfPart(vscode.Uri.parse(address)) === undefined)
        this.#problems.remove(address);
    }
    const parts = vscode.workspace.textDocuments.filter(
      (document) =>
        this.#projects.projectOf(document.uri) === undefined &&
        this.#projectOfPart(document.uri) !== undefined &&
        isThere(document),
    );
    const uris = parts
      .map(({ uri }) => uri.toString())
      .sort()
      .join("\n");
    if (uris !== (this.#ofParts?.uris ?? "")) {
      this.#ofParts?.offered.dispose();
      const files = parts.map(({ uri }) => ({ scheme: uri.scheme, pattern: patternOf(uri) }));
      this.#ofParts = { uris, offered: offerLanguage(files, this.#analyses, this.#lenses) };
    }
    for (const part of parts) if (!this.#problems.files.has(part.uri.toString())) this.#put(part);
  }

  /** Checks again the files that may include a document whose text has changed. */
  #partChanged(uri: vscode.Uri): void {
    const project = this.#projects.projectAround(uri);
    const path = project && pathIn(project.root, uri);
    if (path === undefined || !path.endsWith(".yaml")) return;
    const root = project?.root.toString();
    const dependent = () =>
      [...this.#problems.files].flatMap(([address, { project: own, analysis }]) =>
        own === root && address !== uri.toString() && dependsOn(analysis, path) ? [address] : [],
      );
    if (dependent().length === 0) return;
    this.#analyses.forget();
    this.#enqueue(async () => {
      for (const address of dependent()) await this.#readFile(vscode.Uri.parse(address));
    });
  }

  #around(uri: vscode.Uri): ProjectAround {
    const project = this.#projects.projectAround(uri);
    if (project === undefined) return {};
    const { root } = project;
    return {
      readPart: (path) => {
        const open = openDocument(vscode.Uri.joinPath(root, path));
        if (open !== undefined) return { kind: "read", text: open.getText() };
        return root.scheme === "file" && vscode.workspace.isTrusted ? readPart(root.fsPath, path) : undefined;
      },
      isThere: (path) => {
        if (root.scheme !== "file" || !vscode.workspace.isTrusted) return true;
        const referenced = this.#referenced.get(root.toString()) ?? new Set();
        this.#referenced.set(root.toString(), referenced.add(vscode.Uri.joinPath(root, path).toString()));
        return existsSync(join(root.fsPath, path));
      },
      files: () => {
        const known = [...(this.#includable.get(root.toString()) ?? []), ...this.#included(project)];
        return [...new Set(known)].filter((path) => path !== pathIn(root, uri)).sort();
      },
    };
  }

  #partOf(uri: vscode.Uri, path: string): { readonly uri: vscode.Uri; readonly text: string } | undefined {
    const project = this.#projects.projectAround(uri);
    const read = this.#around(uri).readPart?.(path);
    return project !== undefined && read?.kind === "read"
      ? { uri: vscode.Uri.joinPath(project.root, path), text: read.text }
      : undefined;
  }

  /** A file's pipeline and the service's name of its project. */
  #nameOf(uri: vscode.Uri): NamedFile | undefined {
    const project = this.#projects.projectOf(uri);
    const analysis = this.#problems.files.get(uri.toString())?.analysis;
    if (project === undefined || analysis === undefined) return undefined;
    const { parsed, outline } = analysis;
    const fileName = uri.path.split("/").at(-1) ?? "";
    const ofFile = fileName.replace(/\.yaml$/, "");
    const pipeline = parsed.kind === "valid" ? parsed.pipeline.name : (outline.name?.text ?? ofFile);
    const file =
      uri.scheme === "file" ? { root: project.root.fsPath, path: `pipelines/${fileName}` } : undefined;
    const known = file && this.#deps.projectNames.current.get(file.root);
    return { pipeline, project: known ?? project.name, file };
  }

  #updateRuns(): void {
    const isOpen = vscode.workspace.textDocuments.some(
      ({ uri, isClosed }) => !isClosed && this.#projects.projectOf(uri) !== undefined,
    );
    if (isOpen) this.#retained ??= this.#deps.runs.retain();
    else {
      this.#retained?.dispose();
      this.#retained = undefined;
    }
    const local = this.#projects.current.value.filter(({ root }) => root.scheme === "file");
    if (isOpen)
      void this.#deps.projectNames.update(local.map(({ root, name }) => ({ root: root.fsPath, name })));
    const files = [...this.#problems.files].flatMap(([uri, { analysis }]) => {
      const named = this.#nameOf(vscode.Uri.parse(uri));
      return named === undefined ? [] : [[uri, { ...named, analysis }] as const];
    });
    this.#failed.update(this.#deps.runs.state.value, new Map(files));
    this.#lenses.draw();
  }
}

/** Whether two readings of a text found the same other files. */
function sameFiles({ parsed: one }: Pick<Analysis, "parsed">, { parsed: other }: Analysis): boolean {
  const warnings = (parsed: Analysis["parsed"]) => (parsed.kind === "valid" ? parsed.warnings : undefined);
  return isDeepStrictEqual(warnings(one), warnings(other));
}

function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  const address = uri.toString();
  return vscode.workspace.textDocuments.find(
    (document) => document.uri.toString() === address && isThere(document),
  );
}

/** Whether a document counts. One whose file was deleted stays open, but counts only with unsaved changes. */
function isThere({ uri, isClosed, isDirty }: vscode.TextDocument): boolean {
  return !isClosed && (isDirty || uri.scheme !== "file" || existsSync(uri.fsPath));
}

/** A pattern that matches only this file. */
function patternOf(uri: vscode.Uri): vscode.RelativePattern {
  const folder = vscode.Uri.joinPath(uri, "..");
  const name = uri.path.slice(folder.path.length).replace(/^\//, "");
  return new vscode.RelativePattern(folder, name.replace(/[[\]{}*?]/g, "?"));
}
