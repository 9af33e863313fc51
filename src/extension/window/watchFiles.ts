import * as vscode from "vscode";

/** In milliseconds: a checkout changes many files at once. */
const gatherTime = 150;
/**
 * In milliseconds: the delay of a second look after a change. The editor collects its watchers' events for a moment and doesn't
 * report a file that appears and disappears within it, which the first look may have seen.
 */
const secondLookTime = 1000;

/** Calls back, once for changes that come together and once a moment later, when folders, trust or pipeline files change. */
export function watchWindowFiles(onChange: () => void): vscode.Disposable {
  const { workspace } = vscode;
  const calmly = gathered(onChange);
  return vscode.Disposable.from(
    calmly,
    workspace.onDidChangeWorkspaceFolders(calmly.tell),
    workspace.onDidGrantWorkspaceTrust(calmly.tell),
    // Changes made in the editor are known even if files can't be watched, as on some network drives.
    workspace.onDidSaveTextDocument(({ uri }) => {
      if (mayConcern(uri)) calmly.tell();
    }),
    workspace.onDidCreateFiles(calmly.tell),
    workspace.onDidDeleteFiles(calmly.tell),
    workspace.onDidRenameFiles(calmly.tell),
    watching(workspace.createFileSystemWatcher("**"), calmly.tell),
  );
}

/**
 * Does the same for one project's files, wherever they are.
 * @param isNamed whether a pipeline file names this file, so that its existence matters.
 */
export function watchProjectFiles(
  root: vscode.Uri,
  onChange: () => void,
  isNamed?: (uri: vscode.Uri) => boolean,
): vscode.Disposable {
  const calmly = gathered(onChange);
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, "**"));
  return vscode.Disposable.from(calmly, watching(watcher, calmly.tell, isNamed));
}

/** Whether it is a pipeline file, one that another may include, or a folder for such files. */
function mayConcern({ path }: vscode.Uri): boolean {
  return /\.yaml$|\/(?:pipelines|parts)(?:\/|$)/.test(path);
}

function watching(
  watcher: vscode.FileSystemWatcher,
  onChange: () => void,
  isNamed: (uri: vscode.Uri) => boolean = () => false,
): vscode.Disposable {
  // When a whole folder appears or disappears, the editor may report only the folder, which may have any name.
  const comeOrGone = (uri: vscode.Uri) => {
    if (mayConcern(uri) || /\/[^/.]+$/.test(uri.path) || isNamed(uri)) onChange();
  };
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate(comeOrGone),
    watcher.onDidDelete(comeOrGone),
    watcher.onDidChange((uri) => {
      if (mayConcern(uri)) onChange();
    }),
  );
}

/** Calls back once for all changes within the time, even while changes continue, and once more a moment later. */
function gathered(onChange: () => void) {
  let first: ReturnType<typeof setTimeout> | undefined;
  let second: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    first = undefined;
    onChange();
    clearTimeout(second);
    second = setTimeout(onChange, secondLookTime);
  };
  return {
    tell: () => {
      first ??= setTimeout(look, gatherTime);
    },
    dispose: () => {
      clearTimeout(first);
      clearTimeout(second);
    },
  };
}
