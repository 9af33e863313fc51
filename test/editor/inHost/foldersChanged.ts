import * as vscode from "vscode";

/** Resolves once the window's folders have changed, after everybody else who listens has been told. */
export function foldersChanged(): Promise<void> {
  return new Promise((resolve) => {
    const listening = vscode.workspace.onDidChangeWorkspaceFolders(() => {
      listening.dispose();
      resolve();
    });
  });
}
