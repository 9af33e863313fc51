import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { findProject } from "../../client/project.ts";
import type { fromFailedStep } from "../../contract/fromStep.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { Clock } from "../../machine/clock.ts";
import { recentRun } from "../commands/pickRun.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import { localFolders } from "../window/workspace.ts";
import { openArtifact } from "./artifacts.ts";
import { projectFilesIn } from "./fileLinks.ts";
import type { LogSnapshot, Part } from "./logText.ts";
import { openLogs } from "./openLogs.ts";
import { linePainter } from "./painter.ts";
import type { ReadableFile } from "./runFiles.ts";
import { artifactScheme, logScheme, logUri, runIdOf } from "./runUri.ts";
import { StickToEnd } from "./stickToEnd.ts";
import type { TextLine } from "./textLine.ts";

export interface LogDocumentsDeps {
  readonly session: Pick<Session, "connect" | "reconnect" | "origin" | "state" | "runChanged">;
  readonly projectNames: Pick<ProjectNames, "register">;
  readonly runs: Pick<RunList, "find">;
  /** Shows foreign names without interpreting them. */
  readonly window: typeof vscode.window;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** See `stepToResumeAt`. */
  readonly resumeAt: (run: Run) => Promise<ReturnType<typeof fromFailedStep>>;
}

type FindFile = ReturnType<typeof projectFilesIn>;

/** The documents of runs' logs in this window: their text, colours, folding and links. */
export class LogDocuments implements vscode.Disposable {
  readonly #deps: LogDocumentsDeps;
  readonly #logs: ReturnType<typeof openLogs>;
  readonly #painter: ReturnType<typeof linePainter>;
  readonly #held: vscode.Disposable[] = [];
  readonly #changed = new vscode.EventEmitter<string>();
  readonly #readers = new StickToEnd();
  readonly #projects = new Map<string, Promise<FindFile | undefined>>();
  readonly #openedAt = Date.now();

  constructor(deps: LogDocumentsDeps) {
    this.#deps = deps;
    const { session, clock, resumeAt } = deps;
    this.#logs = openLogs({
      connect: (signal) => session.reconnect(signal),
      origin: () => session.origin,
      clock,
      timeText,
      resumeAt,
      onChange: (runId) => this.#changed.fire(runId),
      isShown: (runId) => vscode.workspace.textDocuments.some(({ uri }) => runIdOf(uri) === runId),
    });
    this.#painter = linePainter({
      decorationType: (options) => vscode.window.createTextEditorDecorationType(options),
      color: (id) => new vscode.ThemeColor(id),
      range: (startLine, start, endLine, end) => new vscode.Range(startLine, start, endLine, end),
      snapshotOf: (document) => this.#snapshotOf(document),
    });
    const { languages, window, workspace } = vscode;
    const logs = { scheme: logScheme };
    this.#held.push(
      this.#logs,
      this.#painter,
      this.#changed,
      languages.registerFoldingRangeProvider(logs, {
        provideFoldingRanges: (document) => this.#parts(document).map(foldingRange),
      }),
      languages.registerDocumentSymbolProvider(logs, {
        provideDocumentSymbols: (document) => this.#parts(document).map(symbol),
      }),
      languages.registerDocumentLinkProvider(logs, {
        provideDocumentLinks: (document) => this.#links(document),
      }),
      workspace.onDidCloseTextDocument(({ uri }) => {
        const runId = runIdOf(uri);
        if (runId !== undefined) this.#logs.closed(runId);
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        const editors = window.visibleTextEditors.filter((editor) => editor.document === document);
        this.#look(editors, (editor) => this.#readers.grown(editor));
      }),
      window.onDidChangeVisibleTextEditors((editors) =>
        this.#look(editors, (editor) => this.#readers.appeared(editor, this.#isGrowing(editor.document))),
      ),
      window.onDidChangeTextEditorVisibleRanges(({ textEditor }) =>
        this.#look([textEditor], (editor) => this.#readers.scrolled(editor)),
      ),
      workspace.onDidChangeWorkspaceFolders(() => this.#projects.clear()),
      workspace.onDidGrantWorkspaceTrust(() => this.#projects.clear()),
      session.runChanged.subscribe((run) => this.#logs.update(run)),
      session.state.observe(({ kind }) => {
        if (kind === "live") this.#logs.retryNow();
      }),
    );
  }

  /** Fires with the run's id when its document changes. */
  get onDidChange(): vscode.Event<string> {
    return this.#changed.event;
  }

  /**
   * “Open Run Log…”: shows a run's log as a document.
   * @param wanted `{ runId }` or a run's id; without it, the person picks a run.
   * @throws as `recentRun`.
   */
  async open(wanted: unknown): Promise<void> {
    const words = { title: t("Open Run Log"), placeHolder: t("Select the run whose log to open") };
    const run = await recentRun(wanted, words, this.#deps);
    if (run !== undefined) await this.#show(run);
  }

  /**
   * The document of a run's log, once there is something to show, or a kept file.
   * @returns undefined for any other URI.
   * @throws as `openArtifact`.
   */
  async file(uri: vscode.Uri): Promise<ReadableFile | undefined> {
    const { session, signal } = this.#deps;
    const runId = runIdOf(uri);
    if (runId === undefined) return openArtifact(uri, { connect: (until) => session.connect(until), signal });
    const log = this.#logs.of(runId);
    await log.ready;
    return {
      changedAt: this.#openedAt + log.revision,
      size: log.read?.bytes.byteLength ?? 0,
      read: async () => log.snapshot().bytes,
    };
  }

  dispose(): void {
    for (const held of this.#held.splice(0)) held.dispose();
  }

  async #show(run: Run): Promise<void> {
    const uri = vscode.Uri.from(logUri(run.runId, nameOf(run)));
    const document = await vscode.workspace.openTextDocument(uri);
    // Following a link would replace a preview tab.
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    this.#painter.paint(editor);
    if (isActive(run)) this.#readers.goToEnd(editor);
  }

  #isGrowing({ uri }: vscode.TextDocument): boolean {
    const runId = runIdOf(uri);
    const run = runId === undefined ? undefined : this.#logs.find(runId)?.run;
    return run !== undefined && isActive(run);
  }

  #snapshotOf(document: vscode.TextDocument): LogSnapshot | undefined {
    const runId = runIdOf(document.uri);
    const read = runId === undefined ? undefined : this.#logs.find(runId)?.read;
    return read?.lineCount === document.lineCount ? read : undefined;
  }

  #parts(document: vscode.TextDocument): readonly Part[] {
    return this.#snapshotOf(document)?.parts ?? [];
  }

  /** Paints the shown logs and calls back for each editor. */
  #look(editors: readonly vscode.TextEditor[], act: (editor: vscode.TextEditor) => void): void {
    for (const editor of editors) {
      if (editor.document.uri.scheme !== logScheme) continue;
      this.#painter.paint(editor);
      act(editor);
    }
  }

  /** The links of a document: to kept files, and to positions in the project's files. */
  async #links(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const runId = runIdOf(document.uri);
    const snapshot = this.#snapshotOf(document);
    const run = runId === undefined ? undefined : this.#logs.find(runId)?.run;
    if (run === undefined || snapshot === undefined) return [];
    const files = run.project === undefined ? undefined : await this.#projectFiles(run.project);
    const found = linked(snapshot).flatMap(([number, { links }]) =>
      links.map(async (link) => {
        const range = new vscode.Range(number, link.start, number, link.end);
        const to = (uri: vscode.Uri, tooltip: string) =>
          Object.assign(new vscode.DocumentLink(range, uri), { tooltip });
        if (link.kind === "kept") {
          return to(vscode.Uri.from({ scheme: artifactScheme, path: link.path }), t("Open this file"));
        }
        if (link.kind === "failed-step") {
          const argument = encodeURIComponent(JSON.stringify([{ runId: run.runId }]));
          const uri = vscode.Uri.parse(`command:pipelineRuns.runFromStep?${argument}`);
          return to(uri, t("Run From Failed Step"));
        }
        const path = await files?.(link.path);
        if (path === undefined) return [];
        const place = { fragment: `L${link.line},${link.column}` };
        return to(vscode.Uri.file(path).with(place), t("Go to this line"));
      }),
    );
    return (await Promise.all(found)).flat();
  }

  #projectFiles(project: string): Promise<FindFile | undefined> {
    const known = this.#projects.get(project);
    if (known !== undefined) return known;
    const found = this.#findProject(project).catch(() => {
      // The service is out of reach; the next request for links asks it again.
      this.#projects.delete(project);
      return undefined;
    });
    this.#projects.set(project, found);
    return found;
  }

  /** The window's folder that the service knows by this name. */
  async #findProject(name: string): Promise<FindFile | undefined> {
    const { session, projectNames, signal, clock } = this.#deps;
    const client = vscode.workspace.isTrusted ? await session.connect(signal) : undefined;
    for (const folder of localFolders()) {
      const local = await findProject(folder);
      if (local === undefined) continue;
      // Another folder may have this name at the service.
      const known = client === undefined ? local : await projectNames.register(client, local);
      if (known.name === name) return projectFilesIn(known.root, clock);
    }
    return undefined;
  }
}

/** How many linked lines are resolved: at the beginning, where the failed step is, and at the end. */
const mostLinked = { atBeginning: 500, atEnd: 1_500 } as const;

function linked(snapshot: LogSnapshot): (readonly [number: number, line: TextLine])[] {
  const all = [...snapshot.lines(0, snapshot.lineCount - 1)].filter(([, { links }]) => links.length > 0);
  const { atBeginning, atEnd } = mostLinked;
  return all.length <= atBeginning + atEnd ? all : [...all.slice(0, atBeginning), ...all.slice(-atEnd)];
}

function foldingRange({ firstLine, lastLine }: Part): vscode.FoldingRange {
  return new vscode.FoldingRange(firstLine, lastLine, vscode.FoldingRangeKind.Region);
}

function symbol({ kind, name, detail, firstLine, lastLine }: Part): vscode.DocumentSymbol {
  const { SymbolKind, Range } = vscode;
  return new vscode.DocumentSymbol(
    name,
    detail,
    kind === "failed" ? SymbolKind.Event : kind === "kept" ? SymbolKind.Package : SymbolKind.Function,
    new Range(firstLine, 0, lastLine, Number.MAX_SAFE_INTEGER),
    new Range(firstLine, 0, firstLine, Number.MAX_SAFE_INTEGER),
  );
}

function timeText(instant: string): string {
  return new Date(instant).toLocaleString(vscode.env.language, { dateStyle: "medium", timeStyle: "medium" });
}
