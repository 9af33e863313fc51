import { join } from "node:path";
import { t, config as useTranslation } from "@vscode/l10n";
import * as vscode from "vscode";
import { connectEmbedded } from "../client/embedded/connectEmbedded.ts";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { systemClock } from "../contract/clock.ts";
import { describeError } from "../contract/errors.ts";
import { type Claims, FileClaims } from "./announce/claims.ts";
import { tellIgnoredSettings } from "./announce/ignoredSettings.ts";
import { plainWindow } from "./announce/plainWindow.ts";
import { type FilePlace, type NoticeDeps, showProblem } from "./announce/problemNotice.ts";
import { RunAnnouncer, readAnnounceLevel } from "./announce/runAnnouncer.ts";
import { ApiKeys } from "./keys/apiKeys.ts";
import { KeyKeeping } from "./keys/keyChanges.ts";
import { ServiceChoice } from "./keys/serviceChoice.ts";
import { readTarget } from "./keys/target.ts";
import type { RunLogs } from "./log/runLogs.ts";
import { refuseVirtual } from "./session/clientOf.ts";
import { ProjectNames } from "./session/projectNames.ts";
import { RunList } from "./session/runList.ts";
import { Session } from "./session/session.ts";
import { LastUsed } from "./start/lastUsed.ts";
import { ResetRetries } from "./start/resetRetries.ts";
import { RetryFiles, retriesText } from "./start/retryFiles.ts";
import { Waits } from "./start/waits.ts";
import { QuotaStatus, RunsBadge } from "./status/quotaStatus.ts";
import { contributed } from "./status/statusActions.ts";
import { usedService } from "./status/statusFacts.ts";
import type { Trees, TreeViews } from "./views/treeViews.ts";
import { ObservableValue } from "./window/observable.ts";
import type { Endings } from "./window/shutdown.ts";

/** What a window's screens and commands are made of. */
export type Parts = ReturnType<typeof assemble>;

/**
 * Puts the window's parts together, and nothing else: none of them asks a service for anything until it is wanted.
 * @param endings what the window's end waits for.
 * @param signal aborts when the extension ends; what holds something is in the context's subscriptions.
 */
export function assemble(
  context: vscode.ExtensionContext,
  views: TreeViews,
  endings: Endings,
  signal: AbortSignal,
) {
  const { commands, workspace } = vscode;
  const window = plainWindow(vscode.window);
  if (vscode.l10n.bundle !== undefined) useTranslation({ contents: vscode.l10n.bundle });
  const own = <T extends vscode.Disposable>(part: T): T => {
    // A window that closes while its parts are being loaded disposes of nothing any more.
    if (signal.aborted) part.dispose();
    else context.subscriptions.push(part);
    return part;
  };

  const log = own(window.createOutputChannel("Pipeline Runs", { log: true }));
  const settings = () => workspace.getConfiguration("pipelineRuns");
  const keys = new ApiKeys(context.secrets);
  const choice = new ServiceChoice(context.workspaceState, keys, () => readTarget(settings()));
  const target = () => choice.target();
  const isFocused = new ObservableValue(window.state.focused);
  own(
    window.onDidChangeWindowState(({ focused }) => {
      if (focused !== isFocused.value) isFocused.set(focused);
    }),
  );
  const session = own(
    new Session({
      target,
      keys: choice,
      isFocused,
      embedded: async (until) => {
        refuseVirtual(workspace.workspaceFolders);
        const { client } = await connectEmbedded(
          {
            folder: dataFolder(process.env),
            execPath: process.execPath,
            servicePath: join(context.extensionPath, "dist", "service.js"),
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
  const runs = own(new RunList({ session, log }));
  const waits = new Waits();
  const shared = context.globalStorageUri.fsPath;
  const claims: Claims = new FileClaims(shared);
  const { executeCommand } = commands;
  const memento = context.workspaceState;
  const retries = own(
    new ResetRetries({
      kept: new RetryFiles(shared, workspaceName()),
      session,
      target,
      claims,
      clock: systemClock,
      random: Math.random,
      window,
      log,
      start: async ({ pipeline, project, timeLimitSeconds: timeLimit }) => {
        await executeCommand("pipelineRuns.run", { pipeline, project, timeLimit });
      },
    }),
  );
  const item = own(window.createStatusBarItem("quota", vscode.StatusBarAlignment.Left, 10));
  item.name = "Pipeline Runs: today's runs";
  const isThere = contributed(context.extension.packageJSON);
  const status = own(
    new QuotaStatus({
      item,
      session,
      waits,
      later: {
        text: () => retriesText(retries.pending.value),
        follow: (listener) => retries.pending.observe(listener),
      },
      used: () => usedService(session, choice),
      clock: systemClock,
      color: (name) => new vscode.ThemeColor(name),
      markdown: () => new vscode.MarkdownString("", true),
      isThere,
    }),
  );

  const keeping = own(new KeyKeeping({ session, keys, choice, claims, log, window, executeCommand }));
  const notice: NoticeDeps = {
    window,
    executeCommand,
    openPlace,
    onKeyRefused: () => keeping.noteTold(),
  };
  const announcer = own(
    new RunAnnouncer({
      window,
      session,
      claims,
      clock: systemClock,
      log,
      signal,
      level: () => readAnnounceLevel(settings().get("announce")),
      setLevel: (level) => settings().update("announce", level, vscode.ConfigurationTarget.Global),
      executeCommand,
      showProblem: (error) => showProblem(error, notice),
    }),
  );
  const tellIgnored = () =>
    void tellIgnoredSettings({
      folders: localFolders,
      workspaceFile: () => {
        const file = workspace.workspaceFile;
        return file?.scheme === "file" ? file.fsPath : undefined;
      },
      memento,
      window,
      executeCommand,
    }).catch((error: unknown) => log.warn(describeError(error)));
  if (workspace.isTrusted) tellIgnored();
  else own(workspace.onDidGrantWorkspaceTrust(tellIgnored));
  own(
    workspace.onDidChangeWorkspaceFolders(() => {
      if (workspace.isTrusted) tellIgnored();
    }),
  );
  own(new RunsBadge(views.runs, session.state));
  let trees: Promise<Trees> | undefined;

  let runLogs: Promise<RunLogs> | undefined;
  const clock = systemClock;
  const isTrusted = () => workspace.isTrusted;
  const projectNames = own(new ProjectNames({ session, log, isTrusted }));
  const mayFollow = () => isTrusted() || target().kind === "remote";

  return {
    /** The documents of runs' logs, loaded when the first one is wanted. */
    runLogs: (): Promise<RunLogs> => {
      runLogs ??= import("./log/runLogs.ts").then(({ RunLogs: Logs }) =>
        own(new Logs({ session, runs, window, clock, signal, folders: localFolders, isTrusted })),
      );
      return runLogs;
    },
    session,
    projectNames,
    runs,
    waits,
    endings,
    retries,
    claims,
    announcer,
    window,
    notice,
    log,
    keys,
    choice,
    target,
    status,
    isThere,
    removeButton: { iconPath: new vscode.ThemeIcon("trash"), tooltip: t("Remove API Key") },
    signal,
    executeCommand,
    env: process.env,
    cliPath: () => String(settings().get("cliPath") ?? "").trim() || undefined,
    lastUsed: new LastUsed(context.workspaceState),
    folders: localFolders,
    activeFile: () => window.activeTextEditor?.document.uri,
    isTrusted,
    clipboard: vscode.env.clipboard,
    /** Opens an address in the person's own browser, also where this code runs on another machine. */
    openExternal: async (url: string): Promise<boolean> =>
      vscode.env.openExternal(await vscode.env.asExternalUri(vscode.Uri.parse(url, true))),
    openFile: (root: string, path: string) =>
      commands.executeCommand("vscode.open", vscode.Uri.joinPath(vscode.Uri.file(root), path)),
    /** What is behind the views, from when one of them is first opened. */
    trees: (): Promise<Trees> => {
      trees ??= import("./views/mountViews.ts").then(({ mountViews }) =>
        mountViews({ views, runs, session, projectNames, mayFollow, log, signal, own }),
      );
      return trees;
    },
    /** Does what a command asks for; what goes wrong is logged, and shown with its next step. */
    perform: async (command: string, act: () => Promise<void>): Promise<void> => {
      try {
        await act();
      } catch (error) {
        if (signal.aborted) return;
        log.error(`${command}: ${describeError(error)}`);
        await showProblem(error, notice);
      }
    },
  };
}

/** The same in all windows of one workspace. */
function workspaceName(): string {
  const { workspaceFile, workspaceFolders = [] } = vscode.workspace;
  return JSON.stringify(workspaceFile?.toString() ?? workspaceFolders.map(({ uri }) => uri.toString()));
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
