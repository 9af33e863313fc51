import * as vscode from "vscode";
import { commands } from "./commands/commands.ts";
import type { ComposedWindow } from "./compose.ts";
import { registerRunFiles } from "./log/runFiles.ts";
import type { pipelineTasks } from "./tasks/pipelineTasks.ts";
import { registerTreeViews } from "./views/treeViews.ts";
import { holdsPipelines, watchNeeds } from "./window/activation.ts";
import { mcpServers, putToolOnPath } from "./window/pipelineTool.ts";
import { Shutdown } from "./window/shutdown.ts";

/** At module level, since the editor calls a function of the module when the window ends. */
const shutdown = new Shutdown();

/** Called while the editor disposes of the subscriptions; it ends the extension's process only when this resolves. */
export async function deactivate(): Promise<void> {
  if (shutdown.isDone) return;
  const { systemClock } = await import("../machine/clock.ts");
  await shutdown.finish(systemClock);
}

/**
 * Registers what the editor may call, and nothing more: no file is read and no network is used. The window is composed once it is
 * needed: for a command, or because it has pipelines or a service.
 */
export function activate(context: vscode.ExtensionContext): void {
  const own = <T extends vscode.Disposable>(part: T): T => {
    context.subscriptions.push(part);
    return part;
  };
  const ended = new AbortController();
  own({ dispose: () => ended.abort(new Error("the extension has ended")) });
  const { signal } = ended;

  let loading: Promise<ComposedWindow> | undefined;
  const load = (): Promise<ComposedWindow> => {
    loading ??= import("./compose.ts").then(({ composeWindow }) =>
      composeWindow(context, views, shutdown, signal),
    );
    return loading;
  };
  /** Acts on the composed window. If loading it fails, the error is shown at each attempt. */
  const use: Use = async (act) => {
    let window: ComposedWindow;
    try {
      window = await load();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(vscode.l10n.t("Pipeline Runs could not start: {0}", why));
      return undefined;
    }
    return act(window);
  };
  const views = registerTreeViews(vscode.window, () => use((window) => window.loadTrees()), own);
  for (const [id, command] of Object.entries(commands)) {
    const run = (...args: unknown[]) =>
      use(({ perform, commandDeps }) => perform(id, () => command(commandDeps, ...args)));
    own(vscode.commands.registerCommand(id, run));
  }
  let providing: Promise<ReturnType<typeof pipelineTasks>> | undefined;
  const provider = () => {
    const deps = async () => {
      support();
      return (await load()).commandDeps;
    };
    providing ??= import("./tasks/pipelineTasks.ts").then((tasks) =>
      tasks.pipelineTasks(deps, shutdown, own, signal),
    );
    return providing;
  };
  own(
    vscode.tasks.registerTaskProvider("pipeline", {
      provideTasks: async () => (await provider()).provideTasks(),
      resolveTask: async (task) => (await provider()).resolveTask(task),
    }),
  );
  const pipelineFiles = own(new vscode.EventEmitter<void>());
  own(
    vscode.lm.registerMcpServerDefinitionProvider("pipelineRuns", {
      onDidChangeMcpServerDefinitions: pipelineFiles.event,
      provideMcpServerDefinitions: () => mcpServers(vscode, context, holdsPipelines),
    }),
  );
  putToolOnPath(context.environmentVariableCollection, {
    extensionFolder: context.extensionPath,
    execPath: process.execPath,
  });
  own(registerRunFiles(async () => (await load()).loadLogDocuments()));
  const support = supportPipelineFiles(context, use, signal);
  own(
    watchNeeds(context, {
      onServiceWanted: () =>
        use(({ session }) => {
          session.watch();
          return session.settled();
        }),
      onServiceChanged: () => void loading?.then(({ session }) => session.stop()),
      onPipelineFiles: () => {
        pipelineFiles.fire();
        support();
      },
      onDeferredStarts: () => void use(() => {}),
      onError: (error) => void loading?.then(({ log }) => log.warn(String(error))).catch(() => {}),
    }),
  );
}

type Use = <T>(act: (window: ComposedWindow) => Promise<T> | T) => Promise<T | undefined>;

/** @returns a function that sets up the editor's support for pipeline files, once; after an error it tries again. */
function supportPipelineFiles(
  { workspaceState, subscriptions }: vscode.ExtensionContext,
  use: Use,
  signal: AbortSignal,
): () => void {
  let isSupported = false;
  return () => {
    if (isSupported) return;
    isSupported = true;
    void use(async ({ pipelineFileDeps, log }) => {
      try {
        const { PipelineFileSupport } = await import("./files/pipelineFileSupport.ts");
        if (!signal.aborted) subscriptions.push(new PipelineFileSupport(pipelineFileDeps, workspaceState));
        // Preloaded: in a window with pipelines, a person is likely to run one next.
        await import("./commands/runPipeline.ts");
      } catch (error) {
        isSupported = false;
        log.error(error instanceof Error ? error : String(error));
      }
    });
  };
}
