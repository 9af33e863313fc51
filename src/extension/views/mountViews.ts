import * as vscode from "vscode";
import { systemClock } from "../../client/clock.ts";
import { describeError } from "../../contract/errors.ts";
import type { RunList } from "../runList.ts";
import type { Session } from "../session.ts";
import { ContextKeys } from "./contexts.ts";
import { LoadOnSight } from "./loadOnSight.ts";
import { PipelinesView } from "./pipelinesView.ts";
import { RunsView } from "./runsView.ts";
import { markdown, treeItem } from "./treeItems.ts";
import type { Trees, TreeViews } from "./treeViews.ts";
import { watchProjectFiles, watchWindowFiles } from "./watchFiles.ts";
import { WindowFiles } from "./windowFiles.ts";

export interface MountDeps {
  readonly views: TreeViews;
  readonly runs: RunList;
  readonly session: Session;
  readonly mayFollow: () => boolean;
  readonly log: vscode.LogOutputChannel;
  readonly signal: AbortSignal;
  readonly own: <T extends vscode.Disposable>(part: T) => T;
}

/** Puts together what is behind the two views. Loaded when one of them is opened for the first time. */
export function mountViews(deps: MountDeps): Trees {
  const { views, runs, session, mayFollow, log, signal, own } = deps;
  const { window, workspace, commands } = vscode;
  const contexts = new ContextKeys(commands.executeCommand);
  const files = own(
    new WindowFiles({
      folders: () => {
        const folders = workspace.workspaceFolders ?? [];
        const local = folders.filter(({ uri }) => uri.scheme === "file").map(({ uri }) => uri.fsPath);
        return { count: folders.length, local };
      },
      isTrusted: () => workspace.isTrusted,
      watch: watchWindowFiles,
      watchRoot: watchProjectFiles,
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
    new LoadOnSight({
      state: runs.state,
      register: (provider) => window.registerFileDecorationProvider(provider),
      // Nobody has asked for it by name, so a failure stays in the log; the row is still there to be chosen.
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
        mayFollow,
        log,
        showProgress: (until) =>
          void window.withProgress({ location: { viewId: "pipelineRuns.runs" } }, () => until),
      }),
    ),
    pipelines: own(new PipelinesView({ ...shared, view: views.pipelines })),
  };
}
