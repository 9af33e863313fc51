import { join } from "node:path";
import { t, config as useTranslation } from "@vscode/l10n";
import * as vscode from "vscode";
import { connectEmbedded } from "../client/embedded/connectEmbedded.ts";
import type { ConnectDeps } from "../client/embedded/startEmbedded.ts";
import { findProjects } from "../client/project.ts";
import { describeError } from "../contract/errors.ts";
import type { fromFailedStep } from "../contract/fromStep.ts";
import type { Run } from "../contract/run.ts";
import { systemClock } from "../machine/clock.ts";
import { dataFolder } from "../machine/dataFolder.ts";
import { withHome } from "../machine/home.ts";
import { type NoticeDeps, showProblem, warnOfIgnoredSettings, watchQuota } from "./announce/notices.ts";
import { RunAnnouncer, readAnnounceLevel } from "./announce/runAnnouncer.ts";
import { ApiKeys } from "./keys/apiKeys.ts";
import { readTarget, ServiceChoice } from "./keys/serviceChoice.ts";
import { watchKeys } from "./session/keyWatcher.ts";
import { ProjectNames } from "./session/projectNames.ts";
import { RunList } from "./session/runList.ts";
import { refuseVirtual, Session } from "./session/session.ts";
import { LastUsed } from "./start/lastUsed.ts";
import { ResetRetries, RetryFiles } from "./start/resetRetries.ts";
import { Waits } from "./start/waitNotice.ts";
import { showBadge, showQuota, watchDayUse } from "./status/quotaStatus.ts";
import { usedService } from "./status/statusFacts.ts";
import type { TagFilter, ViewFilter } from "./views/filters.ts";
import type { TreeViews } from "./views/treeViews.ts";
import { type Claims, FileClaims } from "./window/claims.ts";
import { ObservableValue } from "./window/observable.ts";
import { plainWindow } from "./window/plainWindow.ts";
import type { Shutdown } from "./window/shutdown.ts";
import {
  executeCommand,
  localFolders,
  localWorkspaceFile,
  openExternal,
  openFile,
  openPosition,
  saveFiles,
  settings,
  workspaceName,
} from "./window/workspace.ts";

/** What every part of a window is composed from. */
interface Scope {
  readonly context: vscode.ExtensionContext;
  /** Shows foreign texts without interpreting them. */
  readonly window: typeof vscode.window;
  readonly log: vscode.LogOutputChannel;
  /** Aborts when the extension ends. */
  readonly signal: AbortSignal;
  /** Disposes of a part when the window ends. @returns the part. */
  readonly own: <T extends vscode.Disposable>(part: T) => T;
}

/** A composed window, as the editor's entry point and the commands use it. */
export type ComposedWindow = ReturnType<typeof composeWindow>;

/**
 * Creates the parts of a window and wires them together. None of them contacts a service before it is needed.
 * @param shutdown what the window's end waits for.
 * @param signal aborts when the extension ends; whatever must be disposed is in the context's subscriptions.
 */
export function composeWindow(
  context: vscode.ExtensionContext,
  views: TreeViews,
  shutdown: Shutdown,
  signal: AbortSignal,
) {
  if (vscode.l10n.bundle !== undefined) useTranslation({ contents: vscode.l10n.bundle });
  const own: Scope["own"] = (part) => {
    // The window may have closed while this module was loaded.
    if (signal.aborted) part.dispose();
    else context.subscriptions.push(part);
    return part;
  };
  const window = plainWindow(vscode.window);
  const log = own(window.createOutputChannel("Pipeline Runs", { log: true }));
  const scope: Scope = { context, window, log, signal, own };
  const keys = new ApiKeys(context.secrets, join(context.globalStorageUri.fsPath, "no-keys"));
  const choice = new ServiceChoice(context.workspaceState, keys, () => readTarget(settings()));
  const target = () => choice.target();
  const ownService = () => ownServiceOf(context.extensionPath);
  const session = own(makeSession(ownService, choice, scope));
  const runs = own(new RunList({ session, log }));
  const projectNames = own(new ProjectNames({ session, log, isTrusted }));
  const claims = new FileClaims(context.globalStorageUri.fsPath);
  const waits = new Waits();
  const retries = own(makeRetries(scope, session));
  const status = showStatus({ session, waits, retries, choice, views }, own);
  const keyWatcher = own(watchKeys({ session, keys, choice, claims, log, window, executeCommand }));
  const onKeyRefused = () => keyWatcher.noteRefusalShown();
  const notice: NoticeDeps = { window, executeCommand, openPosition, onKeyRefused };
  const announcer = announceEnds(scope, session, claims, notice);
  watchIgnoredSettings(scope);
  const shared = {
    session,
    projectNames,
    waits,
    announcer,
    target,
    signal,
    isTrusted,
    folders: localFolders,
    resumeAt,
  };
  const starting = {
    ...shared,
    cliPath,
    env: process.env,
    lastUsed: new LastUsed(context.workspaceState),
    saveFiles,
    window,
    backButton: vscode.QuickInputButtons.Back,
  };
  const filters = {
    runFilter: new ObservableValue<ViewFilter>({ statuses: [], pipelines: [], isMine: false }),
    tagFilter: new ObservableValue<TagFilter>({ known: [], chosen: [] }),
  };
  const loadLogDocuments = once(async () => {
    const { LogDocuments: Logs } = await import("./log/logDocuments.ts");
    return own(new Logs({ ...shared, runs, window, clock: systemClock }));
  });
  const loadTrees = once(async () => {
    const { composeViews: mountViews } = await import("./views/composeViews.ts");
    const mayFollow = () => isTrusted() || target().kind === "remote";
    return mountViews({ views, runs, ...filters, session, projectNames, mayFollow, log, signal, own });
  });
  return {
    session,
    log,
    loadLogDocuments,
    loadTrees,
    perform: (command: string, act: () => Promise<void>) => perform(command, act, scope, notice),
    pipelineFileDeps: { runs, waits, projectNames, log },
    commandDeps: {
      ...starting,
      shutdown,
      log,
      executeCommand,
      ownService,
      runs,
      ...filters,
      retries,
      keys,
      choice,
      status,
      openLog: async (run: unknown) => (await loadLogDocuments()).open(run),
      removeButton: { iconPath: new vscode.ThemeIcon("trash"), tooltip: t("Remove API Key") },
      activeFile: () => window.activeTextEditor?.document.uri,
      clipboard: vscode.env.clipboard,
      openExternal,
      openFile,
      openPage: (page: string) => openPage(vscode.Uri.joinPath(context.extensionUri, page)),
    },
  };
}

/** This machine's own service, which is a separate process. */
function ownServiceOf(extensionPath: string): ConnectDeps {
  return {
    folder: dataFolder(process.env),
    execPath: process.execPath,
    servicePath: join(extensionPath, "dist", "service.js"),
    env: process.env,
  };
}

function makeSession(ownService: () => ConnectDeps, choice: ServiceChoice, { log, own }: Scope): Session {
  const isFocused = new ObservableValue(vscode.window.state.focused);
  own(
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused !== isFocused.value) isFocused.set(focused);
    }),
  );
  return new Session({
    target: () => choice.target(),
    keys: choice,
    isFocused,
    embedded: async (until, start) => {
      refuseVirtual(vscode.workspace.workspaceFolders);
      return (await connectEmbedded({ ...ownService(), start }, until)).client;
    },
    clock: systemClock,
    log,
  });
}

interface StatusParts {
  readonly session: Session;
  readonly waits: Waits;
  readonly retries: ResetRetries;
  readonly choice: ServiceChoice;
  readonly views: TreeViews;
}

/** Shows today's usage in the status bar, and the number of active runs as a badge. */
function showStatus({ session, waits, retries, choice, views }: StatusParts, own: Scope["own"]) {
  // At the end, so that its changing text moves no other item, but before messages that come and go.
  const item = own(vscode.window.createStatusBarItem("quota", vscode.StatusBarAlignment.Left, 1));
  item.name = "Pipeline Runs: today's runs";
  own(showBadge(views.runs, session.state));
  return own(
    showQuota({
      item,
      session,
      waits,
      retries,
      used: () => usedService(session, choice),
      dayUse: own(watchDayUse(session)).use,
      clock: systemClock,
      color: (name) => new vscode.ThemeColor(name),
      markdown: () => new vscode.MarkdownString("", true),
    }),
  );
}

/** Announces ends of runs, and a day whose runs are running out. */
function announceEnds(
  { window, log, signal, own }: Scope,
  session: Session,
  claims: Claims,
  notice: NoticeDeps,
): RunAnnouncer {
  const everywhere = vscode.ConfigurationTarget.Global;
  own(
    watchQuota({
      session,
      claims,
      window,
      executeCommand,
      now: systemClock.now,
      isOn: () => settings().get("quotaNotice") !== false,
      switchOff: () => settings().update("quotaNotice", false, everywhere),
    }),
  );
  return own(
    new RunAnnouncer({
      window,
      session,
      claims,
      clock: systemClock,
      log,
      signal,
      level: () => readAnnounceLevel(settings().get("announce")),
      setLevel: (level) => settings().update("announce", level, everywhere),
      executeCommand,
      showProblem: (error) => showProblem(error, notice),
    }),
  );
}

/** Warns of settings in the workspace's files that the editor ignores, once the workspace is trusted. */
function watchIgnoredSettings({ context, window, log, own }: Scope): void {
  const warn = () => {
    if (!isTrusted()) return;
    warnOfIgnoredSettings({
      folders: localFolders,
      workspaceFile: localWorkspaceFile,
      memento: context.workspaceState,
      window,
      executeCommand,
    }).catch((error: unknown) => log.warn(describeError(error)));
  };
  warn();
  own(vscode.workspace.onDidGrantWorkspaceTrust(warn));
  own(vscode.workspace.onDidChangeWorkspaceFolders(warn));
}

function makeRetries({ context, window, log }: Scope, session: Session): ResetRetries {
  return new ResetRetries({
    session,
    store: new RetryFiles(context.globalStorageUri.fsPath, workspaceName()),
    clock: systemClock,
    random: Math.random,
    window,
    log,
    start: async ({ pipeline, project, timeLimitSeconds: timeLimit, fromStep, inputs }) => {
      await executeCommand("pipelineRuns.run", { pipeline, project, timeLimit, fromStep, inputs });
    },
  });
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

function cliPath(): string | undefined {
  return withHome(String(settings().get("cliPath") ?? "").trim()) || undefined;
}

/** Loads its code only when needed, since the parser of pipeline files is large. */
async function resumeAt(run: Run): Promise<ReturnType<typeof fromFailedStep>> {
  const found = isTrusted() ? await findProjects(localFolders()) : [];
  const root = found.find(({ name }) => name === run.project)?.root;
  return (await import("../project/pipelineFiles.ts")).resumeAt(run, root);
}

function isTrusted(): boolean {
  return vscode.workspace.isTrusted;
}

/** Opens a Markdown file rendered, or as text if the editor can't render it. */
async function openPage(uri: vscode.Uri): Promise<void> {
  await vscode.commands
    .executeCommand("markdown.showPreview", uri)
    .then(undefined, () => vscode.window.showTextDocument(uri));
}
