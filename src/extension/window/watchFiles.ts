import * as vscode from "vscode";

/** In milliseconds: a checkout changes many files at once. */
const throttleTime = 150;
/**
 * In milliseconds: the delay of a second look after a change. The editor collects its watchers' events for a moment and doesn't
 * report a file that appears and disappears within it, which the first look may have seen.
 */
const secondLookTime = 1000;

/** Calls back, once for changes that come together and once a moment later, when folders, trust or pipeline files change. */
export function watchWindowFiles(onChange: () => void): vscode.Disposable {
  const { workspace } = vscode;
  const changes = throttled(onChange);
  return vscode.Disposable.from(
    changes,
    workspace.onDidChangeWorkspaceFolders(changes.notify),
    workspace.onDidGrantWorkspaceTrust(changes.notify),
    // Changes made in the editor are known even if files can't be watched, as on some network drives.
    workspace.onDidSaveTextDocument(({ uri }) => {
      if (mayConcern(uri)) changes.notify();
    }),
    workspace.onDidCreateFiles(changes.notify),
    workspace.onDidDeleteFiles(changes.notify),
    workspace.onDidRenameFiles(changes.notify),
    watching(workspace.createFileSystemWatcher("**"), changes.notify),
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
  const changes = throttled(onChange);
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(root, "**"));
  return vscode.Disposable.from(changes, watching(watcher, changes.notify, isNamed));
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
function throttled(onChange: () => void) {
  let first: ReturnType<typeof setTimeout> | undefined;
  let second: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    first = undefined;
    onChange();
    clearTimeout(second);
    second = setTimeout(onChange, secondLookTime);
  };
  return {
    notify: () => {
      first ??= setTimeout(look, throttleTime);
    },
    dispose: () => {
      clearTimeout(first);
      clearTimeout(second);
    },
  };
}
