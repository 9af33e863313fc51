import * as vscode from "vscode";
import { artifactScheme, logScheme, runIdOf } from "./runUri.ts";

export interface ReadableFile {
  /** In milliseconds; grows with each change. */
  readonly changedAt: number;
  readonly size: number;
  readonly read: () => Promise<Uint8Array>;
}

/** Finds the files; reports the id of each run whose log has changed. */
interface FoundFiles {
  readonly onDidChange: vscode.Event<string>;
  readonly file: (uri: vscode.Uri) => Promise<ReadableFile | undefined>;
}

/**
 * Registers the file systems of runs' logs and of kept files. Their code is loaded when one is shown, maybe at once,
 * since a window restores its tabs.
 */
export function registerRunFiles(load: () => Promise<FoundFiles>): vscode.Disposable {
  const files = new RunFiles(load);
  const how = { isCaseSensitive: true, isReadonly: true };
  return vscode.Disposable.from(
    files,
    vscode.workspace.registerFileSystemProvider(logScheme, files, how),
    vscode.workspace.registerFileSystemProvider(artifactScheme, files, how),
  );
}

class RunFiles implements vscode.FileSystemProvider, vscode.Disposable {
  readonly #load: () => Promise<FoundFiles>;
  readonly #changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  #loading: Promise<FoundFiles> | undefined;
  #subscription: vscode.Disposable | undefined;

  readonly onDidChangeFile = this.#changes.event;
  readonly readDirectory = none;
  readonly createDirectory = none;
  readonly writeFile = none;
  readonly delete = none;
  readonly rename = none;

  constructor(load: () => Promise<FoundFiles>) {
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

  /** Changes of open files are always reported. */
  watch(): vscode.Disposable {
    return { dispose: () => {} };
  }

  dispose(): void {
    this.#subscription?.dispose();
    this.#changes.dispose();
  }

  async #find(uri: vscode.Uri): Promise<ReadableFile> {
    this.#loading ??= this.#load().then((logs) => {
      this.#subscription = logs.onDidChange((runId) => this.#onChange(runId));
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

/** The editor shows this text within its own. */
async function unavailable(error: unknown): Promise<never> {
  const { describeError } = await import("../../contract/errors.ts");
  throw vscode.FileSystemError.Unavailable(describeError(error));
}
