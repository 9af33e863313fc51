import type * as vscode from "vscode";

/** What there is to read at an address. */
export interface ReadableFile {
  /** In milliseconds; a later one tells that there is something new. */
  readonly changedAt: number;
  readonly size: number;
  readonly read: () => Promise<Uint8Array>;
}

/** The editor's numbers, so that a plain test needs no editor; a test in the editor holds them to the real ones. */
export const FileNumbers = {
  file: 1 satisfies vscode.FileType.File,
  changed: 1 satisfies vscode.FileChangeType.Changed,
  readonly: 1 satisfies vscode.FilePermission.Readonly,
} as const;

/** Where files of a scheme come from. */
export type Files = (uri: vscode.Uri) => Promise<ReadableFile | undefined>;

/**
 * A file system that only reads, for one scheme.
 * @param files loaded when the first file is asked for.
 * @param noFile the editor's error for a file that isn't there.
 */
export class ReadOnlyFiles implements vscode.FileSystemProvider {
  readonly onDidChangeFile: vscode.Event<vscode.FileChangeEvent[]>;
  readonly #files: Files;
  readonly #noFile: (uri: vscode.Uri) => Error;

  constructor(
    files: Files,
    changes: vscode.Event<vscode.FileChangeEvent[]>,
    noFile: (uri: vscode.Uri) => Error,
  ) {
    this.#files = files;
    this.onDidChangeFile = changes;
    this.#noFile = noFile;
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { changedAt, size } = await this.#find(uri);
    return { type: FileNumbers.file, ctime: 0, mtime: changedAt, size, permissions: FileNumbers.readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return (await this.#find(uri)).read();
  }

  /** Whoever has a file open is told of its changes anyway. */
  watch(): vscode.Disposable {
    return { dispose: () => {} };
  }

  readDirectory(uri: vscode.Uri): never {
    throw this.#noFile(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw this.#noFile(uri);
  }

  writeFile(uri: vscode.Uri): never {
    throw this.#noFile(uri);
  }

  delete(uri: vscode.Uri): never {
    throw this.#noFile(uri);
  }

  rename(uri: vscode.Uri): never {
    throw this.#noFile(uri);
  }

  async #find(uri: vscode.Uri): Promise<ReadableFile> {
    const found = await this.#files(uri);
    if (found === undefined) throw this.#noFile(uri);
    return found;
  }
}
