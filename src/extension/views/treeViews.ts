import type { Disposable, TreeDataProvider, TreeItem, TreeView, window as vscodeWindow } from "vscode";
import type { PipelineNode } from "./pipelineTree.ts";
import type { RunNode } from "./runTree.ts";

export type TreeViews = ReturnType<typeof registerTreeViews>;

export interface Trees {
  readonly runs: TreeDataProvider<RunNode>;
  readonly pipelines: TreeDataProvider<PipelineNode>;
}

/**
 * Registers the two views.
 * @param load gives their providers; undefined if they can't be loaded, which is shown then.
 */
export function registerTreeViews(
  window: Pick<typeof vscodeWindow, "createTreeView">,
  load: () => Promise<Trees | undefined>,
  own: <T extends Disposable>(part: T) => T,
) {
  const view = <T>(id: string, provider: () => Promise<TreeDataProvider<T> | undefined>): TreeView<T> => {
    const treeDataProvider = own(new LazyTree(provider));
    return own(window.createTreeView(id, { treeDataProvider, showCollapseAll: true }));
  };
  return {
    runs: view<RunNode>("pipelineRuns.runs", async () => (await load())?.runs),
    pipelines: view<PipelineNode>("pipelineRuns.pipelines", async () => (await load())?.pipelines),
  };
}

/** A provider that loads the real one when the editor first asks for rows, as it does when the view opens. */
export class LazyTree<T> implements TreeDataProvider<T> {
  readonly #load: () => Promise<TreeDataProvider<T> | undefined>;
  readonly #listeners = new Set<(changed: T | T[] | undefined) => unknown>();
  #tree: TreeDataProvider<T> | undefined;
  #subscription: Disposable | undefined;

  /** @param load gives the view's provider; undefined if it can't be loaded, which is shown then. */
  constructor(load: () => Promise<TreeDataProvider<T> | undefined>) {
    this.#load = load;
  }

  onDidChangeTreeData = (listener: (changed: T | T[] | undefined) => unknown): Disposable => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  async getChildren(element?: T): Promise<T[]> {
    if (this.#tree === undefined) {
      const tree = await this.#load();
      this.#tree ??= tree;
      this.#subscription ??= tree?.onDidChangeTreeData?.((changed) => {
        for (const listener of this.#listeners) listener(changed ?? undefined);
      });
    }
    return (await this.#tree?.getChildren(element)) ?? [];
  }

  getTreeItem(element: T): TreeItem | Thenable<TreeItem> {
    if (this.#tree === undefined) throw new Error("no row was given yet");
    return this.#tree.getTreeItem(element);
  }

  async resolveTreeItem(item: TreeItem, element: T, token: Parameters<Resolve<T>>[2]): Promise<TreeItem> {
    return (await this.#tree?.resolveTreeItem?.(item, element, token)) ?? item;
  }

  dispose(): void {
    this.#subscription?.dispose();
    this.#listeners.clear();
  }
}

type Resolve<T> = NonNullable<TreeDataProvider<T>["resolveTreeItem"]>;
