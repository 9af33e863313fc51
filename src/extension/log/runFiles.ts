import * as vscode from "vscode";
import type { RunLogs } from "./runLogs.ts";
import { artifactScheme, logScheme, runIdOf } from "./runUri.ts";

/** What there is to read at an address. */
export interface ReadableFile {
  /** In milliseconds; a later one tells that there is something new. */
  readonly changedAt: number;
  readonly size: number;
  readonly read: () => Promise<Uint8Array>;
}

/**
 * Tells the editor of the documents of runs' logs and of the files that steps kept. Nothing of it is loaded before one of
 * them is to be shown, which may be at once: a window opens its tabs again.
 */
export function registerRunFiles(load: () => Promise<RunLogs>): vscode.Disposable {
  const files = new RunFiles(load);
  const how = { isCaseSensitive: true, isReadonly: true };
  return vscode.Disposable.from(
    files,
    vscode.workspace.registerFileSystemProvider(logScheme, files, how),
    vscode.workspace.registerFileSystemProvider(artifactScheme, files, how),
  );
}

/** A file system that only reads. */
class RunFiles implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #load: () => Promise<RunLogs>;
  readonly #changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  #loading: Promise<RunLogs> | undefined;
  #following: vscode.Disposable | undefined;

  readonly onDidChangeFile = this.#changes.event;
  readonly readDirectory = none;
  readonly createDirectory = none;
  readonly writeFile = none;
  readonly delete = none;
  readonly rename = none;

  constructor(load: () => Promise<RunLogs>) {
    this.#load = load;
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { changedAt, size } = await this.#find(uri);
    const { FileType, FilePermission } = vscode;
    return { type: FileType.File, ctime: 0, mtime: changedAt, size, permissions: FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { read } = await this.#find(uri);
    return read().catch(unavailable);
  }

  /** Whoever has a file open is told of its changes anyway. */
  watch(): vscode.Disposable {
    return { dispose: () => {} };
  }

  dispose(): void {
    this.#following?.dispose();
    this.#changes.dispose();
  }

  async #find(uri: vscode.Uri): Promise<ReadableFile> {
    this.#loading ??= this.#load().then((logs) => {
      this.#following = logs.onDidChange((runId) => this.#onChange(runId));
      return logs;
    });
    const logs = await this.#loading;
    return (await logs.file(uri).catch(unavailable)) ?? none(uri);
  }

  #onChange(runId: string): void {
    const shown = vscode.workspace.textDocuments.filter(({ uri }) => runIdOf(uri) === runId);
    this.#changes.fire(shown.map(({ uri }) => ({ type: vscode.FileChangeType.Changed, uri })));
  }
}

function none(uri: vscode.Uri): never {
  throw vscode.FileSystemError.FileNotFound(uri);
}

/** The editor shows its own sentence, and ours in it. */
async function unavailable(error: unknown): Promise<never> {
  const { describeError } = await import("../../contract/errors.ts");
  throw vscode.FileSystemError.Unavailable(describeError(error));
}
