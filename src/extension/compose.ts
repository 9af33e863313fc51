import { t, config as useTranslation } from "@vscode/l10n";
import * as vscode from "vscode";
import { findProject } from "../client/project.ts";
import { describeError } from "../contract/errors.ts";
import type { fromFailedStep } from "../contract/fromStep.ts";
import type { Run } from "../contract/run.ts";
import { systemClock } from "../machine/clock.ts";
import { composeAnnouncements } from "./announce/composeAnnouncements.ts";
import { type NoticeDeps, showProblem } from "./announce/problemNotice.ts";
import { ApiKeys } from "./keys/apiKeys.ts";
import { ServiceChoice } from "./keys/serviceChoice.ts";
import { readTarget } from "./keys/target.ts";
import { composeSession, ownServiceOf } from "./session/composeSession.ts";
import { watchKeys } from "./session/keyWatcher.ts";
import { ProjectNames } from "./session/projectNames.ts";
import { RunList } from "./session/runList.ts";
import type { Session } from "./session/session.ts";
import { LastUsed } from "./start/lastUsed.ts";
import { ResetRetries } from "./start/resetRetries.ts";
import { RetryFiles } from "./start/retryFiles.ts";
import { Waits } from "./start/waits.ts";
import { composeStatus } from "./status/composeStatus.ts";
import type { ViewFilter } from "./views/runFilter.ts";
import type { TagFilter } from "./views/tagFilter.ts";
import type { TreeViews } from "./views/treeViews.ts";
import { FileClaims } from "./window/claims.ts";
import { ObservableValue } from "./window/observable.ts";
import type { Scope } from "./window/own.ts";
import { plainWindow } from "./window/plainWindow.ts";
import type { Shutdown } from "./window/shutdown.ts";
import {
  executeCommand,
  localFolders,
  openExternal,
  openFile,
  saveFiles,
  settings,
  workspaceName,
} from "./window/workspace.ts";

/** A composed window, as the editor's entry and the commands use it. */
export type ComposedWindow = ReturnType<typeof composeWindow>;

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
) {
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
  const ownService = () => ownServiceOf(context.extensionPath);
  const session = own(composeSession(ownService, choice, log, own));
  const runs = own(new RunList({ session, log }));
  const projectNames = own(new ProjectNames({ session, log, isTrusted }));
  const claims = new FileClaims(context.globalStorageUri.fsPath);
  const waits = new Waits();
  const retries = own(makeRetries(scope, session));
  const status = composeStatus({ session, waits, retries, choice, views, own });
  const keyWatcher = own(watchKeys({ session, keys, choice, claims, log, window, executeCommand }));
  const onKeyRefused = () => keyWatcher.noteRefusalShown();
  const { notice, announcer } = composeAnnouncements(scope, { session, claims, onKeyRefused, own });
  const shared = {
    session,
    projectNames,
    waits,
    announcer,
    target,
    signal,
    isTrusted,
    folders: localFolders,
    goOnAt,
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
  return String(settings().get("cliPath") ?? "").trim() || undefined;
}

/** Loaded when it is needed, since the reader of pipeline files is large. */
async function goOnAt(run: Run): Promise<ReturnType<typeof fromFailedStep>> {
  const found = isTrusted() ? await Promise.all(localFolders().map((folder) => findProject(folder))) : [];
  const own = found.filter((project) => project !== undefined);
  return (await import("./files/goOnAt.ts")).goOnAt(run, own);
}

function isTrusted(): boolean {
  return vscode.workspace.isTrusted;
}

/** Opens a Markdown file as it reads best: rendered, or as text where the editor lacks that. */
async function openPage(uri: vscode.Uri): Promise<void> {
  await vscode.commands
    .executeCommand("markdown.showPreview", uri)
    .then(undefined, () => vscode.window.showTextDocument(uri));
}
