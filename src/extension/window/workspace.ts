import * as vscode from "vscode";

/** A position in a project's file, as in `pipelines/nightly.yaml:3:5: …`. Line and column count from 1. */
export interface FilePosition {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** The window's folders on this machine. */
export function localFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
}

/** Saves edited files, unless `task.saveBeforeRun` is `never`. The editor itself reports a file that it can't save. */
export async function saveFiles(): Promise<void> {
  const when = vscode.workspace.getConfiguration().get("task.saveBeforeRun");
  if (when !== "never") await vscode.workspace.saveAll(false);
}

/** A name that is the same in all windows of one workspace. */
export function workspaceName(): string {
  const { workspaceFile, workspaceFolders = [] } = vscode.workspace;
  return JSON.stringify(workspaceFile?.toString() ?? workspaceFolders.map(({ uri }) => uri.toString()));
}

/** The workspace's file, if the workspace was saved and the file is on this machine. */
export function localWorkspaceFile(): string | undefined {
  const file = vscode.workspace.workspaceFile;
  return file?.scheme === "file" ? file.fsPath : undefined;
}

export function openFile(root: string, path: string): Thenable<unknown> {
  return vscode.commands.executeCommand("vscode.open", vscode.Uri.joinPath(vscode.Uri.file(root), path));
}

export async function openPosition(root: string, { path, line, column }: FilePosition): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(vscode.Uri.file(root), path));
  const position = new vscode.Position(line - 1, column - 1);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(position, position) });
}

/** Opens a URL in the person's own browser, even if this code runs on another machine. */
export async function openExternal(url: string): Promise<boolean> {
  return vscode.env.openExternal(await vscode.env.asExternalUri(vscode.Uri.parse(url, true)));
}

export function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("pipelineRuns");
}

export function executeCommand(command: string, ...parameters: unknown[]): Thenable<unknown> {
  return vscode.commands.executeCommand(command, ...parameters);
}
