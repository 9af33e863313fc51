import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Clock } from "../../client/clock.ts";
import { findProject, registerProject } from "../../client/project.ts";
import { isInWork, nameOf, type Run } from "../../contract/run.ts";
import type { RunList } from "../runList.ts";
import type { Session } from "../session.ts";
import { keptFile } from "./keptFiles.ts";
import { logLinks } from "./logLinks.ts";
import type { LogSnapshot, Part } from "./logSnapshot.ts";
import { lookOptions } from "./lookOptions.ts";
import { openLog } from "./openLog.ts";
import { OpenLogs } from "./openLogs.ts";
import { Painter } from "./painter.ts";
import { ProjectFiles } from "./projectFiles.ts";
import type { ReadableFile } from "./readOnlyFiles.ts";
import { logScheme, logUri, runIdOf } from "./runUri.ts";
import { movedReader, type ReaderPlace } from "./stickToEnd.ts";

export interface RunLogsDeps {
  readonly session: Pick<Session, "connect" | "isOwn" | "origin" | "state" | "runTold">;
  readonly runs: Pick<RunList, "find">;
  /** Shows names from elsewhere as they are. */
  readonly window: typeof vscode.window;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The window's folders on this machine. */
  readonly folders: () => readonly string[];
  readonly isTrusted: () => boolean;
}

/** The documents of runs' logs in this window: what they say, how it looks, and where it leads. */
export class RunLogs implements vscode.Disposable {
  readonly #deps: RunLogsDeps;
  readonly #logs: OpenLogs;
  readonly #painter: Painter;
  readonly #held: vscode.Disposable[] = [];
  readonly #changed = new vscode.EventEmitter<string>();
  readonly #places = new WeakMap<vscode.TextEditor, ReaderPlace>();
  /** Documents whose reader was at the end when last seen. */
  readonly #leftAtEnd = new WeakSet<vscode.TextDocument>();
  readonly #projects = new Map<string, Promise<ProjectFiles | undefined>>();
  readonly #openedAt = Date.now();

  constructor(deps: RunLogsDeps) {
    this.#deps = deps;
    const { session, clock } = deps;
    this.#logs = new OpenLogs({
      connect: (signal) => session.connect(signal),
      isOwn: () => session.isOwn,
      origin: () => session.origin,
      clock,
      timeText,
      onChange: (runId) => this.#changed.fire(runId),
      isShown: (runId) => vscode.workspace.textDocuments.some(({ uri }) => runIdOf(uri) === runId),
    });
    this.#painter = new Painter({
      decorationType: (key) =>
        vscode.window.createTextEditorDecorationType(lookOptions(key, (id) => new vscode.ThemeColor(id))),
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
      workspace.onDidChangeTextDocument(({ document }) => this.#grown(document)),
      window.onDidChangeVisibleTextEditors((editors) => {
        for (const editor of editors) this.#appeared(editor);
      }),
      window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => this.#scrolled(textEditor)),
      workspace.onDidChangeWorkspaceFolders(() => this.#projects.clear()),
      workspace.onDidGrantWorkspaceTrust(() => this.#projects.clear()),
      session.runTold.listen((run) => this.#logs.tell(run)),
      session.state.follow(({ kind }) => {
        if (kind === "live") this.#logs.retryNow();
      }),
    );
  }

  /** Fires the id of a run whose document has something new. */
  get onDidChange(): vscode.Event<string> {
    return this.#changed.event;
  }

  /** “Open Run Log…” @throws as `openLog`. */
  async open(wanted: unknown): Promise<void> {
    const { session, runs, window, signal } = this.#deps;
    await openLog(wanted, {
      session,
      runs,
      logs: this.#logs,
      window,
      signal,
      show: (run) => this.#show(run),
    });
  }

  /** The document of a run's log, once there is something to show. */
  async logFile(uri: vscode.Uri): Promise<ReadableFile | undefined> {
    const runId = runIdOf(uri);
    if (runId === undefined) return undefined;
    const log = this.#logs.of(runId);
    await log.ready;
    return {
      changedAt: this.#openedAt + log.revision,
      size: log.read?.byteCount ?? 0,
      read: async () => log.snapshot().bytes(),
    };
  }

  /** A file that a step kept. @throws as `keptFile`. */
  keptFile(uri: vscode.Uri): Promise<ReadableFile | undefined> {
    const { session, clock, signal } = this.#deps;
    return keptFile(uri, { connect: (until) => session.connect(until), clock, signal });
  }

  dispose(): void {
    for (const held of this.#held.splice(0)) held.dispose();
  }

  async #show(run: Run): Promise<void> {
    const uri = vscode.Uri.from(logUri(run.runId, nameOf(run)));
    const document = await vscode.workspace.openTextDocument(uri);
    // A preview would go as soon as a link in it is followed.
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    this.#painter.paint(editor);
    if (!isInWork(run)) return;
    this.#places.set(editor, { isAtEnd: true, first: 0 });
    showEnd(editor);
  }

  #snapshotOf(document: vscode.TextDocument): LogSnapshot | undefined {
    const runId = runIdOf(document.uri);
    const read = runId === undefined ? undefined : this.#logs.find(runId)?.read;
    return read?.lineCount === document.lineCount ? read : undefined;
  }

  #parts(document: vscode.TextDocument): readonly Part[] {
    return this.#snapshotOf(document)?.parts ?? [];
  }

  #grown(document: vscode.TextDocument): void {
    if (document.uri.scheme !== logScheme) return;
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document !== document) continue;
      this.#painter.paint(editor);
      if (this.#places.get(editor)?.isAtEnd === true) showEnd(editor);
    }
  }

  /** An editor that comes back to the screen: one whose reader was at the end of a log goes on following it. */
  #appeared(editor: vscode.TextEditor): void {
    if (editor.document.uri.scheme !== logScheme) return;
    this.#painter.paint(editor);
    if (this.#places.has(editor) || !this.#leftAtEnd.has(editor.document)) return;
    this.#places.set(editor, { isAtEnd: true, first: 0 });
    showEnd(editor);
  }

  #scrolled(editor: vscode.TextEditor): void {
    const { document, visibleRanges } = editor;
    if (document.uri.scheme !== logScheme) return;
    this.#painter.paint(editor);
    const [first, last] = [visibleRanges[0], visibleRanges.at(-1)];
    if (first === undefined || last === undefined) return;
    const view = { first: first.start.line, last: last.end.line, lineCount: document.lineCount };
    const place = movedReader(this.#places.get(editor), view);
    this.#places.set(editor, place);
    if (place.isAtEnd) this.#leftAtEnd.add(document);
    else this.#leftAtEnd.delete(document);
  }

  async #links(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const runId = runIdOf(document.uri);
    const snapshot = this.#snapshotOf(document);
    const run = runId === undefined ? undefined : this.#logs.find(runId)?.run;
    if (run === undefined || snapshot === undefined) return [];
    const files = run.project === undefined ? undefined : await this.#projectFiles(run.project);
    const links = await logLinks(snapshot, async (named) => files?.find(named));
    return links.map(({ line, start, end, target }) => {
      const range = new vscode.Range(line, start, line, end);
      if (target.kind === "kept") {
        const link = new vscode.DocumentLink(range, vscode.Uri.from(target.uri));
        link.tooltip = t("Open this file");
        return link;
      }
      const place = `L${target.line},${target.column}`;
      const link = new vscode.DocumentLink(range, vscode.Uri.file(target.path).with({ fragment: place }));
      link.tooltip = t("Go to this line");
      return link;
    });
  }

  #projectFiles(project: string): Promise<ProjectFiles | undefined> {
    const known = this.#projects.get(project);
    if (known !== undefined) return known;
    const found = this.#findProject(project).catch(() => {
      // The service is away just now: it is asked again with the next look at the document.
      this.#projects.delete(project);
      return undefined;
    });
    this.#projects.set(project, found);
    return found;
  }

  /** The folder of this window that the service knows by this name. */
  async #findProject(name: string): Promise<ProjectFiles | undefined> {
    const { folders, isTrusted, session, signal, clock } = this.#deps;
    const client = isTrusted() ? await session.connect(signal) : undefined;
    for (const folder of folders()) {
      const local = await findProject(folder);
      if (local === undefined) continue;
      // Another folder may have had the name first; then this one's has another name there.
      const known = client === undefined ? local : await registerProject(client, local, signal);
      if (known.name === name) return new ProjectFiles(known.root, clock);
    }
    return undefined;
  }
}

function showEnd(editor: vscode.TextEditor): void {
  const end = editor.document.lineCount - 1;
  editor.revealRange(new vscode.Range(end, 0, end, 0));
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
