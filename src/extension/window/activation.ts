import { readdir } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { chosenServiceKey, hasDeferredStarts } from "./storedState.ts";

export interface WindowNeeds {
  /** The service should be followed. Resolves once its numbers are shown, or why there are none. */
  readonly onServiceWanted: () => Promise<void>;
  /** The setting names another service than before. */
  readonly onServiceChanged: () => void;
  /** There are pipeline files to edit; called more than once. */
  readonly onPipelineFiles: () => void;
  /** There are deferred starts, perhaps of this workspace. */
  readonly onDeferredStarts: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Finds out what the window needs when it opens and when its folders, trust, files or base URL change. A window with pipelines, a
 * base URL or a chosen service follows its service; any other stays idle until a command.
 */
export function watchNeeds(
  { workspaceState, globalStorageUri }: Pick<vscode.ExtensionContext, "workspaceState" | "globalStorageUri">,
  needs: WindowNeeds,
): vscode.Disposable {
  const { workspace } = vscode;
  let isDisposed = false;
  const look = async (): Promise<void> => {
    try {
      if ((await isServiceWanted(workspaceState)) && !isDisposed) await needs.onServiceWanted();
      if ((await hasPipelines()) && !isDisposed) needs.onPipelineFiles();
    } catch (error) {
      if (!isDisposed) needs.onError(error);
    }
  };
  const lookAtDocument = ({ uri }: vscode.TextDocument): void => {
    if (/\/pipelines\/[^/]+\.yaml$/.test(uri.path)) needs.onPipelineFiles();
  };
  const owned: vscode.Disposable[] = [
    workspace.onDidOpenTextDocument(lookAtDocument),
    workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("pipelineRuns.baseUrl")) return;
      needs.onServiceChanged();
      void look();
    }),
    workspace.onDidChangeWorkspaceFolders(() => void look()),
    workspace.onDidGrantWorkspaceTrust(() => void look()),
  ];
  for (const document of workspace.textDocuments) lookAtDocument(document);
  // Deferred: searching the workspace takes longer than the rest of the activation, which the window waits for.
  const later = setImmediate(() => {
    void hasDeferredStarts(globalStorageUri.fsPath).then((hasSome) => {
      if (hasSome && !isDisposed) needs.onDeferredStarts();
    });
    // For a new folder with files, the editor may report only the folder.
    const watcher = workspace.createFileSystemWatcher("**/pipelines{,/*.yaml}");
    owned.push(
      watcher,
      watcher.onDidCreate(() => void look()),
    );
    void look();
  });
  return {
    dispose: () => {
      isDisposed = true;
      clearImmediate(later);
      for (const part of owned) part.dispose();
    },
  };
}

/** Files of an untrusted workspace don't start anything. */
async function isServiceWanted(workspaceState: vscode.Memento): Promise<boolean> {
  const { workspace } = vscode;
  if (String(workspace.getConfiguration("pipelineRuns").get("baseUrl") ?? "").trim() !== "") return true;
  if (workspaceState.get(chosenServiceKey) !== undefined) return true;
  if (!workspace.isTrusted || !(workspace.workspaceFolders ?? []).some(({ uri }) => uri.scheme === "file"))
    return false;
  return hasPipelines();
}

async function hasPipelines(): Promise<boolean> {
  const { workspaceFolders = [] } = vscode.workspace;
  return (await Promise.all(workspaceFolders.map(({ uri }) => holdsPipelines(uri)))).includes(true);
}

/**
 * Whether a folder of the workspace has pipeline files. Local folders are read by Node: the editor's search would start a
 * program, and its own reading waits for the window, which is busy while it opens.
 */
export async function holdsPipelines(folder: vscode.Uri): Promise<boolean> {
  const names = folder.scheme === "file" ? readHere(folder.fsPath) : readElsewhere(folder);
  return (await names.catch(() => [])).some((name) => name.endsWith(".yaml"));
}

async function readHere(folder: string): Promise<string[]> {
  const entries = await readdir(join(folder, "pipelines"), { withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

async function readElsewhere(folder: vscode.Uri): Promise<string[]> {
  const entries = await vscode.workspace.fs.readDirectory(vscode.Uri.joinPath(folder, "pipelines"));
  return entries.filter(([, type]) => type !== vscode.FileType.Directory).map(([name]) => name);
}
