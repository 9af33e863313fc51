import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
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
  const roots = () => (workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const changes = throttled(roots, onChange);
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
  const changes = throttled(() => [root], onChange);
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

/**
 * Calls back once for all changes within the time, even while changes continue, and once more a moment later.
 * @param roots the folders whose links are followed.
 */
function throttled(roots: () => readonly vscode.Uri[], onChange: () => void) {
  let first: ReturnType<typeof setTimeout> | undefined;
  let second: ReturnType<typeof setTimeout> | undefined;
  const notify = () => {
    first ??= setTimeout(look, throttleTime);
  };
  const links = watchingLinks(roots, notify);
  const look = () => {
    first = undefined;
    links.update();
    onChange();
    clearTimeout(second);
    second = setTimeout(onChange, secondLookTime);
  };
  return {
    notify,
    dispose: () => {
      links.dispose();
      clearTimeout(first);
      clearTimeout(second);
    },
  };
}

/** Watches the folders that the roots' `pipelines` lead to where these are links, which the editor's watchers don't follow. */
function watchingLinks(roots: () => readonly vscode.Uri[], onChange: () => void) {
  const watched = new Map<string, vscode.Disposable>();
  let updateCount = 0;
  const update = async () => {
    updateCount += 1;
    const count = updateCount;
    const local = roots().filter(({ scheme }) => scheme === "file");
    const targets = new Set(
      await Promise.all(local.map(({ fsPath }) => targetOf(join(fsPath, "pipelines")))),
    );
    // A later update has begun, or it is disposed.
    if (count !== updateCount) return;
    for (const [path, watching] of watched) {
      if (targets.has(path)) continue;
      watching.dispose();
      watched.delete(path);
    }
    for (const path of targets) {
      if (path === undefined || watched.has(path)) continue;
      const pattern = new vscode.RelativePattern(vscode.Uri.file(path), "*");
      watched.set(path, watching(vscode.workspace.createFileSystemWatcher(pattern), onChange));
    }
  };
  void update();
  return {
    update: () => void update(),
    dispose: () => {
      updateCount += 1;
      for (const watching of watched.values()) watching.dispose();
    },
  };
}

/** Where a link leads; undefined for what is none, or leads nowhere. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await realpath(path) : undefined;
  } catch {
    return undefined;
  }
}
