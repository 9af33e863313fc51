import type { Disposable, TreeDataProvider, TreeView, window as vscodeWindow } from "vscode";
import { LazyTree } from "./lazyTree.ts";
import type { PipelineNode } from "./pipelineNode.ts";
import type { RunNode } from "./runNode.ts";

/** The views as the editor knows them. */
export interface TreeViews {
  readonly runs: TreeView<RunNode>;
  readonly pipelines: TreeView<PipelineNode>;
}

/** What gives the views their rows. */
export interface Trees {
  readonly runs: TreeDataProvider<RunNode>;
  readonly pipelines: TreeDataProvider<PipelineNode>;
}

/**
 * Registers the two views, whose rows the editor asks for when they are opened.
 * @param load gives what is behind them; undefined when it can't be had, which was told already.
 */
export function registerTreeViews(
  window: Pick<typeof vscodeWindow, "createTreeView">,
  load: () => Promise<Trees | undefined>,
  own: <T extends Disposable>(part: T) => T,
): TreeViews {
  const runs = own(new LazyTree<RunNode>(async () => (await load())?.runs));
  const pipelines = own(new LazyTree<PipelineNode>(async () => (await load())?.pipelines));
  return {
    runs: own(window.createTreeView("pipelineRuns.runs", { treeDataProvider: runs, showCollapseAll: true })),
    pipelines: own(
      window.createTreeView("pipelineRuns.pipelines", { treeDataProvider: pipelines, showCollapseAll: true }),
    ),
  };
}
