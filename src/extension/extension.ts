import { join } from "node:path";
import * as vscode from "vscode";
import { systemClock } from "../client/clock.ts";
import { connectEmbedded } from "../client/embedded/connectEmbedded.ts";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { describeError } from "../contract/errors.ts";
import { ApiKeys } from "./apiKeys.ts";
import { removeApiKey, setApiKey } from "./commands/apiKey.ts";
import { cancelMyRuns } from "./commands/cancelMyRuns.ts";
import { cancelRun } from "./commands/cancelRun.ts";
import { runPipeline } from "./commands/runPipeline.ts";
import type { FilePlace } from "./filePlace.ts";
import { LastUsed } from "./lastUsed.ts";
import { type NoticeDeps, showProblem } from "./problemNotice.ts";
import { QuotaStatus } from "./quotaStatus.ts";
import { RunAnnouncer } from "./runAnnouncer.ts";
import { Session } from "./session.ts";
import { readTarget } from "./target.ts";
import { putToolOnPath } from "./terminalPath.ts";
import { Waits } from "./waits.ts";

/** Wires the parts together, and nothing else. It touches no network: the window's first look comes after. */
export function activate(context: vscode.ExtensionContext): void {
  const own = <T extends vscode.Disposable>(part: T): T => {
    context.subscriptions.push(part);
    return part;
  };
  const ended = new AbortController();
  own({ dispose: () => ended.abort(new Error("the extension has ended")) });
  const { signal } = ended;
  const { window, commands, workspace } = vscode;

  putToolOnPath(context.environmentVariableCollection, {
    extensionFolder: context.extensionPath,
    execPath: process.execPath,
  });

  const log = own(window.createOutputChannel("Pipeline Runs", { log: true }));
  const settings = () => workspace.getConfiguration("pipelineRuns");
  const target = () => readTarget(settings());
  const keys = new ApiKeys(context.secrets);
  const session = own(
    new Session({
      target,
      keys,
      embedded: async (until) => {
        const { client } = await connectEmbedded(
          {
            folder: dataFolder(process.env),
            execPath: process.execPath,
            servicePath: join(import.meta.dirname, "service.js"),
            env: process.env,
          },
          until,
        );
        return client;
      },
      clock: systemClock,
      log,
    }),
  );
  const waits = new Waits();
  const item = own(window.createStatusBarItem("quota", vscode.StatusBarAlignment.Left, 10));
  item.name = "Pipeline Runs: today's runs";
  own(new QuotaStatus(item, session.state, waits.current, (name) => new vscode.ThemeColor(name)));

  const notice: NoticeDeps = { window, executeCommand: commands.executeCommand, openPlace };
  const announcer = new RunAnnouncer({
    window,
    log,
    signal,
    showProblem: (error) => showProblem(error, notice),
  });
  const parts = {
    session,
    waits,
    announcer,
    window,
    notice,
    log,
    keys,
    target,
    signal,
    executeCommand: commands.executeCommand,
    env: process.env,
    cliPath: () => String(settings().get("cliPath") ?? "").trim() || undefined,
    lastUsed: new LastUsed(context.workspaceState),
    folders: localFolders,
    isTrusted: () => workspace.isTrusted,
  };
  const acts = {
    "pipelineRuns.run": () => runPipeline(parts),
    "pipelineRuns.cancel": () => cancelRun(parts),
    "pipelineRuns.cancelMine": () => cancelMyRuns(parts),
    "pipelineRuns.setApiKey": () => setApiKey(parts),
    "pipelineRuns.removeApiKey": () => removeApiKey(parts),
    "pipelineRuns.showLog": async () => log.show(),
  };
  for (const [command, act] of Object.entries(acts)) {
    own(
      commands.registerCommand(command, () =>
        act().catch((error: unknown) => {
          if (signal.aborted) return undefined;
          log.error(`${command}: ${describeError(error)}`);
          return showProblem(error, notice);
        }),
      ),
    );
  }

  const lookAround = async () => {
    if (await isWanted()) session.watch();
  };
  own(keys.onDidChange(() => session.restart()));
  own(
    workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("pipelineRuns.baseUrl")) return;
      session.rest();
      void lookAround();
    }),
  );
  own(workspace.onDidChangeWorkspaceFolders(() => void lookAround()));
  own(own(workspace.createFileSystemWatcher("**/pipelines/*.yaml")).onDidCreate(() => void lookAround()));
  void lookAround();

  /** A window with pipelines, or with a base URL, follows its service; any other stays quiet until a command. */
  async function isWanted(): Promise<boolean> {
    const where = target();
    if (where.kind !== "embedded") return true;
    if (localFolders().length === 0) return false;
    return (await workspace.findFiles("pipelines/*.yaml", undefined, 1)).length > 0;
  }
}

function localFolders(): string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter(({ uri }) => uri.scheme === "file")
    .map(({ uri }) => uri.fsPath);
}

async function openPlace(root: string, { path, line, column }: FilePlace): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(vscode.Uri.file(root), path));
  const place = new vscode.Position(line - 1, column - 1);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(place, place) });
}
