import * as vscode from "vscode";
import { describeError } from "../../contract/errors.ts";
import { systemClock } from "../../machine/clock.ts";
import { logUri } from "../log/runUri.ts";
import type { ProjectNames } from "../session/projectNames.ts";
import type { RunList } from "../session/runList.ts";
import type { Session } from "../session/session.ts";
import type { ObservableValue } from "../window/observable.ts";
import { appendWords } from "../window/plainWindow.ts";
import { watchProjectFiles, watchWindowFiles } from "../window/watchFiles.ts";
import { WindowFiles } from "../window/windowFiles.ts";
import { localFolders } from "../window/workspace.ts";
import type { TagFilter, ViewFilter } from "./filters.ts";
import { loadOnScroll } from "./loadOnScroll.ts";
import { PipelinesView } from "./pipelinesView.ts";
import type { Row, TooltipLine } from "./runRow.ts";
import { RunsView } from "./runsView.ts";
import type { Trees, TreeViews } from "./treeViews.ts";
import { ContextKeys } from "./welcome.ts";

export interface ComposeViewsDeps {
  readonly views: TreeViews;
  readonly runs: RunList;
  readonly runFilter: ObservableValue<ViewFilter>;
  readonly tagFilter: ObservableValue<TagFilter>;
  readonly session: Session;
  readonly projectNames: ProjectNames;
  readonly mayFollow: () => boolean;
  readonly log: vscode.LogOutputChannel;
  readonly signal: AbortSignal;
  readonly own: <T extends vscode.Disposable>(part: T) => T;
}

/** Composes the views' providers. Loaded when a view is first opened. */
export function composeViews(deps: ComposeViewsDeps): Trees {
  const { views, runs, runFilter, tagFilter, session, projectNames, mayFollow, log, signal, own } = deps;
  const { window, workspace, commands } = vscode;
  const contexts = new ContextKeys(commands.executeCommand);
  const files = own(
    new WindowFiles({
      folders: () => ({ count: workspace.workspaceFolders?.length ?? 0, local: localFolders() }),
      isTrusted: () => workspace.isTrusted,
      watch: watchWindowFiles,
      watchRoot: (root, onChange) => watchProjectFiles(vscode.Uri.file(root), onChange),
    }),
  );
  const shared = {
    runs,
    session,
    files,
    contexts,
    items: { treeItem, markdown },
    clock: systemClock,
    signal,
  };
  own(
    loadOnScroll({
      state: runs.state,
      register: (provider) => window.registerFileDecorationProvider(provider),
      // The person didn't ask for it, so an error is only logged; the row can still be clicked.
      loadMore: () =>
        runs.loadMore(signal).catch((error: unknown) => {
          if (!signal.aborted) log.warn(`Older runs could not be listed: ${describeError(error)}`);
        }),
    }),
  );
  return {
    runs: own(
      new RunsView({
        ...shared,
        view: views.runs,
        runFilter,
        mayFollow,
        log,
        showProgress: (until) =>
          void window.withProgress({ location: { viewId: "pipelineRuns.runs" } }, () => until),
      }),
    ),
    pipelines: own(new PipelinesView({ ...shared, projectNames, tagFilter, view: views.pipelines })),
  };
}

/** The editor's item for a row, without its tooltip, which is created on hover. */
function treeItem(row: Row): vscode.TreeItem {
  const item = new vscode.TreeItem(row.label, foldings[row.folding]);
  item.id = row.id;
  item.contextValue = row.tokens.join(" ");
  item.accessibilityInformation = { label: row.spoken };
  if (row.description !== undefined) item.description = row.description;
  if (row.icon !== undefined) item.iconPath = icon(row.icon);
  if (row.address !== undefined) item.resourceUri = vscode.Uri.parse(row.address);
  const command = commandOf(row);
  if (command !== undefined) item.command = command;
  return item;
}

/** The lines as Markdown, with foreign texts as plain text. */
function markdown(lines: readonly TooltipLine[]): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  for (const [index, line] of lines.entries()) {
    if (line.isCode === true) {
      text.appendCodeblock(line.text, "text");
      continue;
    }
    if (index > 0) text.appendMarkdown("  \n");
    if (line.name !== undefined) {
      text.appendMarkdown("**");
      appendWords(text, line.name);
      text.appendMarkdown("**&ensp;");
    }
    appendWords(text, line.text);
  }
  return text;
}

const foldings = {
  none: vscode.TreeItemCollapsibleState.None,
  collapsed: vscode.TreeItemCollapsibleState.Collapsed,
  expanded: vscode.TreeItemCollapsibleState.Expanded,
} as const;

function icon({ id, color }: NonNullable<Row["icon"]>): vscode.ThemeIcon {
  return color === undefined
    ? new vscode.ThemeIcon(id)
    : new vscode.ThemeIcon(id, new vscode.ThemeColor(color));
}

function commandOf({ action, label }: Row): vscode.Command | undefined {
  if (action === undefined) return undefined;
  if (action.kind === "command") {
    return { command: action.command, title: label };
  }
  if (action.kind === "log") {
    const log = vscode.Uri.from(logUri(action.runId, action.pipeline));
    // Following a link would replace a preview tab.
    return { command: "vscode.open", title: label, arguments: [log, { preview: false }] };
  }
  const uri = vscode.Uri.file(action.file);
  if (action.line === undefined) return { command: "vscode.open", title: label, arguments: [uri] };
  const place = new vscode.Position(action.line - 1, (action.column ?? 1) - 1);
  const selection = new vscode.Range(place, place);
  return { command: "vscode.open", title: label, arguments: [uri, { selection }] };
}
