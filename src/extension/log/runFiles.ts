import * as vscode from "vscode";
import { artifactScheme, logScheme, runIdOf } from "./runUri.ts";

export interface ReadableFile {
  /** In milliseconds; grows with each change. */
  readonly changedAt: number;
  readonly size: number;
  readonly read: () => Promise<Uint8Array>;
}

/** Finds the files, and reports the id of each run whose log has changed. */
interface FoundFiles {
  readonly onDidChange: vscode.Event<string>;
  readonly file: (uri: vscode.Uri) => Promise<ReadableFile | undefined>;
}

/**
 * Registers the file systems of runs' logs and of kept files. Their code is loaded when one is shown, perhaps at once, since a
 * window restores its tabs.
 */
export function registerRunFiles(load: () => Promise<FoundFiles>): vscode.Disposable {
  const changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  let loading: Promise<FoundFiles> | undefined;
  let subscription: vscode.Disposable | undefined;
  const onChange = (runId: string): void => {
    const shown = vscode.workspace.textDocuments.filter(({ uri }) => runIdOf(uri) === runId);
    changes.fire(shown.map(({ uri }) => ({ type: vscode.FileChangeType.Changed, uri })));
  };
  const find = async (uri: vscode.Uri): Promise<ReadableFile> => {
    loading ??= load().then((logs) => {
      subscription = logs.onDidChange(onChange);
      return logs;
    });
    const logs = await loading;
    return (await logs.file(uri).catch(unavailable)) ?? none(uri);
  };
  const files: vscode.FileSystemProvider = {
    onDidChangeFile: changes.event,
    stat: async (uri) => {
      const { changedAt, size } = await find(uri);
      const { FileType, FilePermission } = vscode;
      return { type: FileType.File, ctime: 0, mtime: changedAt, size, permissions: FilePermission.Readonly };
    },
    readFile: async (uri) => (await find(uri)).read().catch(unavailable),
    // Changes of open files are always reported.
    watch: () => ({ dispose: () => {} }),
    readDirectory: none,
    createDirectory: none,
    writeFile: none,
    delete: none,
    rename: none,
  };
  const how = { isCaseSensitive: true, isReadonly: true };
  return vscode.Disposable.from(
    changes,
    { dispose: () => subscription?.dispose() },
    vscode.workspace.registerFileSystemProvider(logScheme, files, how),
    vscode.workspace.registerFileSystemProvider(artifactScheme, files, how),
  );
}

function none(uri: vscode.Uri): never {
  throw vscode.FileSystemError.FileNotFound(uri);
}

/** The editor shows this text within a message of its own. */
async function unavailable(error: unknown): Promise<never> {
  const { describeError } = await import("../../contract/errors.ts");
  throw vscode.FileSystemError.Unavailable(describeError(error));
}
