import * as vscode from "vscode";

/** In milliseconds: a checkout changes many files at once. */
const debounceTime = 150;
/** For a deleted folder the editor may report nothing but the folder. */
const pipelinesAndFolder = "pipelines{,/*.yaml}";

/** Called, once for changes that come together, when the window's folders, its trust or its pipeline files change. */
export function watchWindowFiles(onChange: () => void): vscode.Disposable {
  const { workspace } = vscode;
  const calmly = debounced(onChange);
  return vscode.Disposable.from(
    calmly,
    workspace.onDidChangeWorkspaceFolders(calmly.tell),
    workspace.onDidGrantWorkspaceTrust(calmly.tell),
    // Changes made in the editor are known also where files can't be watched, as on some network drives.
    workspace.onDidSaveTextDocument(({ uri }) => {
      if (isPipelineFile(uri)) calmly.tell();
    }),
    workspace.onDidCreateFiles(calmly.tell),
    workspace.onDidDeleteFiles(calmly.tell),
    workspace.onDidRenameFiles(calmly.tell),
    watching(workspace.createFileSystemWatcher(`**/${pipelinesAndFolder}`), calmly.tell),
  );
}

/** The same for one project's pipeline files, wherever they are. */
export function watchProjectFiles(root: string, onChange: () => void): vscode.Disposable {
  const calmly = debounced(onChange);
  return vscode.Disposable.from(calmly, watching(watchPipelines(vscode.Uri.file(root)), calmly.tell));
}

/** Watches a project's pipeline files, and their folder, which may come or go as a whole. */
export function watchPipelines(root: vscode.Uri): vscode.FileSystemWatcher {
  return vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, pipelinesAndFolder));
}

function isPipelineFile({ path }: vscode.Uri): boolean {
  return /\/pipelines\/[^/]+\.yaml$/.test(path);
}

function watching(watcher: vscode.FileSystemWatcher, onChange: () => void): vscode.Disposable {
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(onChange),
    watcher.onDidChange(onChange),
    watcher.onDidDelete(onChange),
  );
}

function debounced(onChange: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = () => {
    clearTimeout(timer);
    timer = setTimeout(onChange, debounceTime);
  };
  return { tell, dispose: () => clearTimeout(timer) };
}
