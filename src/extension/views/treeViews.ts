import type { Disposable, TreeDataProvider, TreeView, window as vscodeWindow } from "vscode";
import type { PipelineNode } from "./pipelineTree.ts";
import type { RunNode } from "./runTree.ts";

export type TreeViews = ReturnType<typeof registerTreeViews>;

export interface Trees {
  readonly runs: TreeDataProvider<RunNode>;
  readonly pipelines: TreeDataProvider<PipelineNode>;
}

/**
 * Registers the two views.
 * @param load returns their providers; undefined if they can't be loaded, which is then shown.
 */
export function registerTreeViews(
  window: Pick<typeof vscodeWindow, "createTreeView">,
  load: () => Promise<Trees | undefined>,
  own: <T extends Disposable>(part: T) => T,
) {
  const view = <T>(id: string, provider: () => Promise<TreeDataProvider<T> | undefined>): TreeView<T> => {
    const treeDataProvider = own(lazyTree(provider));
    return own(window.createTreeView(id, { treeDataProvider, showCollapseAll: true }));
  };
  return {
    runs: view<RunNode>("pipelineRuns.runs", async () => (await load())?.runs),
    pipelines: view<PipelineNode>("pipelineRuns.pipelines", async () => (await load())?.pipelines),
  };
}

/**
 * A provider that loads the real one when the editor first asks for rows, which it does when the view opens.
 * @param load returns the view's provider; undefined if it can't be loaded, which is then shown.
 */
export function lazyTree<T>(load: () => Promise<TreeDataProvider<T> | undefined>) {
  const listeners = new Set<(changed: T | T[] | undefined) => unknown>();
  let tree: TreeDataProvider<T> | undefined;
  let subscription: Disposable | undefined;
  return {
    onDidChangeTreeData: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    getChildren: async (element?: T) => {
      tree ??= await load();
      subscription ??= tree?.onDidChangeTreeData?.((changed) => {
        for (const listener of listeners) listener(changed ?? undefined);
      });
      return (await tree?.getChildren(element)) ?? [];
    },
    getTreeItem: (element) => {
      if (tree === undefined) throw new Error("no row was given yet");
      return tree.getTreeItem(element);
    },
    resolveTreeItem: async (item, element, token) =>
      (await tree?.resolveTreeItem?.(item, element, token)) ?? item,
    dispose: () => subscription?.dispose(),
  } satisfies TreeDataProvider<T> & Disposable;
}
