import * as vscode from "vscode";
import { FileNumbers, type Files, ReadOnlyFiles } from "./readOnlyFiles.ts";
import type { RunLogs } from "./runLogs.ts";
import { keptScheme, logScheme, runIdOf } from "./runUri.ts";

/**
 * Tells the editor of the documents of runs' logs and of the files that steps kept. Nothing of it is loaded before one of
 * them is to be shown, which may be at once: a window opens its tabs again.
 */
export function registerRunFiles(load: () => Promise<RunLogs>): vscode.Disposable {
  const changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  const held: vscode.Disposable[] = [changes];
  let loading: Promise<RunLogs> | undefined;
  const logs = (): Promise<RunLogs> => {
    loading ??= load().then((loaded) => {
      held.push(loaded.onDidChange((runId) => changes.fire(changesOf(runId))));
      return loaded;
    });
    return loading;
  };
  const register = (scheme: string, files: Files) =>
    vscode.workspace.registerFileSystemProvider(
      scheme,
      new ReadOnlyFiles(files, changes.event, vscode.FileSystemError.FileNotFound),
      { isCaseSensitive: true, isReadonly: true },
    );
  held.push(
    register(logScheme, async (uri) => (await logs()).logFile(uri)),
    register(keptScheme, async (uri) => {
      try {
        const file = await (await logs()).keptFile(uri);
        return file && { ...file, read: () => file.read().catch(unavailable) };
      } catch (error) {
        return await unavailable(error);
      }
    }),
  );
  return vscode.Disposable.from({
    dispose: () => {
      for (const part of held) part.dispose();
    },
  });
}

function changesOf(runId: string): vscode.FileChangeEvent[] {
  return vscode.workspace.textDocuments
    .filter(({ uri }) => runIdOf(uri) === runId)
    .map(({ uri }) => ({ type: FileNumbers.changed, uri }));
}

/** The editor shows its own sentence, and ours in it. */
async function unavailable(error: unknown): Promise<never> {
  const { describeError } = await import("../../contract/errors.ts");
  throw vscode.FileSystemError.Unavailable(describeError(error));
}
