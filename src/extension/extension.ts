import * as vscode from "vscode";
import { choiceName } from "./choiceName.ts";
import { acts } from "./commands.ts";
import { registerRunFiles } from "./log/runFiles.ts";
import type { Parts } from "./parts.ts";
import { isAnyPutOff } from "./start/putOffFolder.ts";
import { registerTreeViews, type Trees } from "./views/treeViews.ts";
import { Endings } from "./window/shutdown.ts";
import { putToolOnPath } from "./window/terminalPath.ts";

/** The module's own, since the editor calls a function of the module at the window's end. */
const endings = new Endings();

/** The editor disposes of the subscriptions meanwhile, and only then ends the process that all this runs in. */
export async function deactivate(): Promise<void> {
  if (endings.areOver) return;
  const { systemClock } = await import("../contract/clock.ts");
  await endings.over(systemClock);
}

/**
 * Registers what the editor may call, and nothing more: no file is read and no network is touched. The parts are loaded
 * when something is wanted of them: a command, or a window that has pipelines or a service.
 */
export function activate(context: vscode.ExtensionContext): void {
  const own = <T extends vscode.Disposable>(part: T): T => {
    context.subscriptions.push(part);
    return part;
  };
  const ended = new AbortController();
  own({ dispose: () => ended.abort(new Error("the extension has ended")) });
  const { commands, tasks, workspace, window } = vscode;

  let loading: Promise<Parts> | undefined;
  const parts = (): Promise<Parts> => {
    loading ??= import("./parts.ts").then(({ assemble }) => assemble(context, views, endings, ended.signal));
    return loading;
  };
  /** Uses the parts; when they can't be had, the person is told so, each time they ask for something. */
  const use = async (act: (parts: Parts) => Promise<void> | void): Promise<void> => {
    let loaded: Parts;
    try {
      loaded = await parts();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      void window.showErrorMessage(vscode.l10n.t("Pipeline Runs could not start: {0}", why));
      return;
    }
    await act(loaded);
  };

  const views = registerTreeViews(
    window,
    async () => {
      let trees: Trees | undefined;
      await use(async (loaded) => {
        trees = await loaded.trees();
      });
      return trees;
    },
    own,
  );
  for (const [id, act] of Object.entries(acts)) {
    own(
      commands.registerCommand(id, (...args: unknown[]) =>
        use((loaded) => loaded.perform(id, () => act(loaded, ...args))),
      ),
    );
  }
  const pipelineTasks = async () =>
    (await import("./tasks/pipelineTasks.ts")).pipelineTasks(parts, endings, ended.signal);
  own(
    tasks.registerTaskProvider("pipeline", {
      provideTasks: async () => (await pipelineTasks()).provideTasks(),
      resolveTask: async (task) => (await pipelineTasks()).resolveTask(task),
    }),
  );
  putToolOnPath(context.environmentVariableCollection, {
    extensionFolder: context.extensionPath,
    execPath: process.execPath,
  });

  own(registerRunFiles(async () => (await parts()).runLogs()));
  let looksAtFiles = false;
  /** What the editor knows of pipeline files, from when there is one to look at. */
  const lookAtFiles = () => {
    if (looksAtFiles) return;
    looksAtFiles = true;
    void use(async (loaded) => {
      try {
        const { PipelineFiles } = await import("./files/pipelineFiles.ts");
        if (!ended.signal.aborted) own(new PipelineFiles(loaded, context.workspaceState));
      } catch (error) {
        // The next pipeline file that is opened tries it again.
        looksAtFiles = false;
        loaded.log.error(error instanceof Error ? error : String(error));
      }
    });
  };
  own(workspace.onDidOpenTextDocument(({ uri }) => (mayBePipeline(uri) ? lookAtFiles() : undefined)));
  if (workspace.textDocuments.some(({ uri }) => mayBePipeline(uri))) lookAtFiles();

  const lookAround = () => {
    looked().catch((error: unknown) => {
      if (!ended.signal.aborted) void loading?.then(({ log }) => log.warn(String(error))).catch(() => {});
    });
  };
  const looked = async () => {
    if ((await isWanted(context.workspaceState)) && !ended.signal.aborted)
      await use(({ session }) => session.watch());
    if ((await hasPipelines()) && !ended.signal.aborted) lookAtFiles();
  };
  own(
    workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("pipelineRuns.baseUrl")) return;
      void loading?.then(({ session }) => session.rest());
      lookAround();
    }),
  );
  own(workspace.onDidChangeWorkspaceFolders(() => lookAround()));
  own(workspace.onDidGrantWorkspaceTrust(() => lookAround()));
  // To look at the workspace takes longer than all that is above, and the window is not to wait for it.
  const looking = setImmediate(() => {
    // A start that was put off is made by a window that is quiet otherwise, too.
    void isAnyPutOff(context.globalStorageUri.fsPath).then((isAny) => {
      if (isAny && !ended.signal.aborted) void use(() => {});
    });
    own(own(workspace.createFileSystemWatcher("**/pipelines/*.yaml")).onDidCreate(() => lookAround()));
    lookAround();
  });
  own({ dispose: () => clearImmediate(looking) });
}

/**
 * A window with pipelines, with a base URL, or with a service that was chosen for it, follows its service; any other
 * stays quiet until a command. The files of a workspace that isn't trusted start nothing.
 */
async function isWanted(workspaceState: vscode.Memento): Promise<boolean> {
  const { workspace } = vscode;
  if (String(workspace.getConfiguration("pipelineRuns").get("baseUrl") ?? "").trim() !== "") return true;
  if (workspaceState.get(choiceName) !== undefined) return true;
  if (!workspace.isTrusted || !(workspace.workspaceFolders ?? []).some(({ uri }) => uri.scheme === "file"))
    return false;
  return hasPipelines();
}

async function hasPipelines(): Promise<boolean> {
  return (await vscode.workspace.findFiles("pipelines/*.yaml", undefined, 1)).length > 0;
}

/** Whether a file may be a project's pipeline; which projects the window has is found out only then. */
function mayBePipeline({ path }: vscode.Uri): boolean {
  return /\/pipelines\/[^/]+\.yaml$/.test(path);
}
