import { join } from "node:path";
import { t, config as useTranslation } from "@vscode/l10n";
import * as vscode from "vscode";
import { connectEmbedded } from "../client/embedded/connectEmbedded.ts";
import { loopbackFetch } from "../client/service/loopbackFetch.ts";
import { describeError } from "../contract/errors.ts";
import { systemClock } from "../machine/clock.ts";
import { dataFolder } from "../machine/dataFolder.ts";
import { warnOfIgnoredSettings } from "./announce/ignoredSettings.ts";
import { type NoticeDeps, showProblem } from "./announce/problemNotice.ts";
import { watchQuota } from "./announce/quotaNotice.ts";
import { RunAnnouncer, readAnnounceLevel } from "./announce/runAnnouncer.ts";
import type { CommandDeps } from "./commands/commands.ts";
import type { PipelineFileDeps } from "./files/pipelineFileSupport.ts";
import { ApiKeys } from "./keys/apiKeys.ts";
import { ServiceChoice } from "./keys/serviceChoice.ts";
import { readTarget } from "./keys/target.ts";
import type { LogDocuments } from "./log/logDocuments.ts";
import { refuseVirtual } from "./session/clientOf.ts";
import { KeyWatcher } from "./session/keyWatcher.ts";
import { ProjectNames } from "./session/projectNames.ts";
import { RunList } from "./session/runList.ts";
import { Session } from "./session/session.ts";
import { LastUsed } from "./start/lastUsed.ts";
import { ResetRetries } from "./start/resetRetries.ts";
import { RetryFiles, retriesText } from "./start/retryFiles.ts";
import { Waits } from "./start/waits.ts";
import { DayUseReader } from "./status/dayUse.ts";
import { QuotaStatus, RunsBadge } from "./status/quotaStatus.ts";
import { contributed } from "./status/statusActions.ts";
import { usedService } from "./status/statusFacts.ts";
import type { TaskDeps } from "./tasks/pipelineTasks.ts";
import type { ViewFilter } from "./views/runFilter.ts";
import type { Trees, TreeViews } from "./views/treeViews.ts";
import { type Claims, FileClaims } from "./window/claims.ts";
import { ObservableValue } from "./window/observable.ts";
import { plainWindow } from "./window/plainWindow.ts";
import type { Shutdown } from "./window/shutdown.ts";
import {
  localFolders,
  localWorkspaceFile,
  openExternal,
  openFile,
  openPosition,
  workspaceName,
} from "./window/workspace.ts";

/** A composed window, as the editor's entry uses it. */
export interface ComposedWindow {
  readonly session: Session;
  readonly log: vscode.LogOutputChannel;
  readonly commandDeps: CommandDeps;
  readonly taskDeps: TaskDeps;
  readonly pipelineFileDeps: PipelineFileDeps;
  readonly loadLogDocuments: () => Promise<LogDocuments>;
  readonly loadTrees: () => Promise<Trees>;
  /** Runs a command; an error is logged, and shown with its next step. */
  readonly perform: (command: string, act: () => Promise<void>) => Promise<void>;
}

/** What every part is composed with. */
interface Scope {
  readonly context: vscode.ExtensionContext;
  /** Shows texts from elsewhere as they are. */
  readonly window: typeof vscode.window;
  readonly log: vscode.LogOutputChannel;
  /** Aborts when the extension ends. */
  readonly signal: AbortSignal;
}

/**
 * Makes the parts of a window and wires them. None of them asks a service for anything before it is wanted.
 * @param shutdown what the window's end waits for.
 * @param signal aborts when the extension ends; what has to be disposed of is in the context's subscriptions.
 */
export function composeWindow(
  context: vscode.ExtensionContext,
  views: TreeViews,
  shutdown: Shutdown,
  signal: AbortSignal,
): ComposedWindow {
  if (vscode.l10n.bundle !== undefined) useTranslation({ contents: vscode.l10n.bundle });
  const own = <T extends vscode.Disposable>(part: T): T => {
    // The window may have closed while this module was loaded.
    if (signal.aborted) part.dispose();
    else context.subscriptions.push(part);
    return part;
  };
  const window = plainWindow(vscode.window);
  const log = own(window.createOutputChannel("Pipeline Runs", { log: true }));
  const scope: Scope = { context, window, log, signal };
  const keys = new ApiKeys(context.secrets);
  const choice = new ServiceChoice(context.workspaceState, keys, () => readTarget(settings()));
  const target = () => choice.target();
  const session = own(makeSession(scope, choice, own));
  const runs = own(new RunList({ session, log }));
  const projectNames = own(new ProjectNames({ session, log, isTrusted }));
  const claims = new FileClaims(context.globalStorageUri.fsPath);
  const waits = new Waits();
  const retries = own(makeRetries(scope, { session, target, claims }));
  const isContributed = contributed(context.extension.packageJSON);
  const dayUse = own(new DayUseReader({ session, signal })).use;
  const status = own(makeStatus({ session, waits, retries, choice, dayUse, isContributed, own }));
  own(new RunsBadge(views.runs, session.state));
  const keyWatcher = own(new KeyWatcher({ session, keys, choice, claims, log, window, executeCommand }));
  const notice = { window, executeCommand, openPosition, onKeyRefused: () => keyWatcher.noteRefusalShown() };
  const announcer = own(makeAnnouncer(scope, { session, claims, notice }));
  watchIgnoredSettings(scope, own);
  own(
    watchQuota({
      ...{ session, claims, window, executeCommand, now: systemClock.now },
      isOn: () => settings().get("quotaNotice") !== false,
      switchOff: () => settings().update("quotaNotice", false, vscode.ConfigurationTarget.Global),
    }),
  );
  const shared = {
    session,
    projectNames,
    waits,
    announcer,
    target,
    signal,
    isTrusted,
    folders: localFolders,
  };
  const starting = { ...shared, cliPath, env: process.env, lastUsed: new LastUsed(context.workspaceState) };
  const runFilter = new ObservableValue<ViewFilter>({ statuses: [], pipelines: [], isMine: false });
  const loadLogDocuments = once(async () => {
    const { LogDocuments: Logs } = await import("./log/logDocuments.ts");
    return own(new Logs({ ...shared, runs, window, clock: systemClock }));
  });
  const loadTrees = once(async () => {
    const { composeViews: mountViews } = await import("./views/composeViews.ts");
    const mayFollow = () => isTrusted() || target().kind === "remote";
    return mountViews({ views, runs, runFilter, session, projectNames, mayFollow, log, signal, own });
  });
  return {
    session,
    log,
    loadLogDocuments,
    loadTrees,
    perform: (command, act) => perform(command, act, scope, notice),
    taskDeps: starting,
    pipelineFileDeps: { session, runs, waits, projectNames, log, isTrusted },
    commandDeps: {
      ...starting,
      ...{
        shutdown,
        window,
        log,
        notice,
        executeCommand,
        runs,
        runFilter,
        retries,
        keys,
        choice,
        status,
        isContributed,
      },
      openLog: async (run) => (await loadLogDocuments()).open(run),
      removeButton: { iconPath: new vscode.ThemeIcon("trash"), tooltip: t("Remove API Key") },
      activeFile: () => window.activeTextEditor?.document.uri,
      clipboard: vscode.env.clipboard,
      openExternal,
      openFile,
      openPage: (page) => openPage(vscode.Uri.joinPath(context.extensionUri, page)),
    },
  };
}

type Own = <T extends vscode.Disposable>(part: T) => T;

function makeSession({ context, window, log }: Scope, choice: ServiceChoice, own: Own): Session {
  const isFocused = new ObservableValue(window.state.focused);
  own(
    window.onDidChangeWindowState(({ focused }) => {
      if (focused !== isFocused.value) isFocused.set(focused);
    }),
  );
  return new Session({
    target: () => choice.target(),
    keys: choice,
    isFocused,
    embedded: async (until) => {
      refuseVirtual(vscode.workspace.workspaceFolders);
      const { client } = await connectEmbedded(
        {
          folder: dataFolder(process.env),
          execPath: process.execPath,
          servicePath: join(context.extensionPath, "dist", "service.js"),
          env: process.env,
          fetch: loopbackFetch(),
        },
        until,
      );
      return client;
    },
    clock: systemClock,
    log,
  });
}

function makeRetries(
  { context, window, log }: Scope,
  service: {
    readonly session: Session;
    readonly target: () => ReturnType<ServiceChoice["target"]>;
    readonly claims: Claims;
  },
): ResetRetries {
  return new ResetRetries({
    ...service,
    store: new RetryFiles(context.globalStorageUri.fsPath, workspaceName()),
    clock: systemClock,
    random: Math.random,
    window,
    log,
    start: async ({ pipeline, project, timeLimitSeconds: timeLimit, fromStep }) => {
      await executeCommand("pipelineRuns.run", { pipeline, project, timeLimit, fromStep });
    },
  });
}

function makeStatus({
  session,
  waits,
  retries,
  choice,
  dayUse,
  isContributed,
  own,
}: {
  readonly session: Session;
  readonly waits: Waits;
  readonly retries: ResetRetries;
  readonly choice: ServiceChoice;
  readonly dayUse: DayUseReader["use"];
  readonly isContributed: (command: string) => boolean;
  readonly own: Own;
}): QuotaStatus {
  const item = own(vscode.window.createStatusBarItem("quota", vscode.StatusBarAlignment.Left, 10));
  item.name = "Pipeline Runs: today's runs";
  return new QuotaStatus({
    item,
    session,
    waits,
    deferred: {
      text: () => retriesText(retries.pending.value),
      observe: (listener) => retries.pending.observe(listener),
    },
    used: () => usedService(session, choice),
    dayUse,
    clock: systemClock,
    color: (name) => new vscode.ThemeColor(name),
    markdown: () => new vscode.MarkdownString("", true),
    isContributed,
  });
}

function makeAnnouncer(
  { window, log, signal }: Scope,
  {
    session,
    claims,
    notice,
  }: { readonly session: Session; readonly claims: Claims; readonly notice: NoticeDeps },
): RunAnnouncer {
  return new RunAnnouncer({
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
  });
}

/** Warns of settings of the workspace's files that the editor leaves out, once they may be read. */
function watchIgnoredSettings({ context, window, log }: Scope, own: Own): void {
  const { workspace } = vscode;
  const warn = () => {
    if (!workspace.isTrusted) return;
    warnOfIgnoredSettings({
      folders: localFolders,
      workspaceFile: localWorkspaceFile,
      memento: context.workspaceState,
      window,
      executeCommand,
    }).catch((error: unknown) => log.warn(describeError(error)));
  };
  warn();
  own(workspace.onDidGrantWorkspaceTrust(warn));
  own(workspace.onDidChangeWorkspaceFolders(warn));
}

async function perform(
  command: string,
  act: () => Promise<void>,
  { log, signal }: Scope,
  notice: NoticeDeps,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (signal.aborted) return;
    log.error(`${command}: ${describeError(error)}`);
    await showProblem(error, notice);
  }
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("pipelineRuns");
}

function cliPath(): string | undefined {
  return String(settings().get("cliPath") ?? "").trim() || undefined;
}

function isTrusted(): boolean {
  return vscode.workspace.isTrusted;
}

function executeCommand(command: string, ...parameters: unknown[]): Thenable<unknown> {
  return vscode.commands.executeCommand(command, ...parameters);
}

/** Opens a Markdown file as it reads best: rendered, or as text where the editor lacks that. */
async function openPage(uri: vscode.Uri): Promise<void> {
  await vscode.commands
    .executeCommand("markdown.showPreview", uri)
    .then(undefined, () => vscode.window.showTextDocument(uri));
}
