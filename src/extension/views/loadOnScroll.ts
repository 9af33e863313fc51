import type { Disposable, FileDecorationProvider, Uri } from "vscode";
import type { RunListState } from "../session/runList.ts";
import type { ObservableValue } from "../window/observable.ts";
import { olderScheme } from "./runRow.ts";

export interface LoadOnScrollDeps {
  readonly state: ObservableValue<RunListState>;
  readonly register: (provider: FileDecorationProvider) => Disposable;
  readonly loadMore: () => Promise<void>;
}

/**
 * Loads the next page of older runs when the person scrolls to its row. A tree reports no scrolling, but the editor asks
 * for a file's decorations when it draws the file's row; the row for older runs has its own address for that.
 */
export class LoadOnScroll implements Disposable {
  readonly #subscription: Disposable;
  readonly #deps: LoadOnScrollDeps;
  #provider: Disposable | undefined;

  constructor(deps: LoadOnScrollDeps) {
    this.#deps = deps;
    // The editor asks such a provider about every file that it draws, so it is registered only while there is a row.
    this.#subscription = deps.state.observe((state) => {
      const hasRow = state.kind === "listed" && state.hasMore;
      if (hasRow) this.#provider ??= deps.register({ provideFileDecoration: (uri) => this.#onShown(uri) });
      else this.#unregister();
    });
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#unregister();
  }

  #onShown({ scheme }: Uri): undefined {
    if (scheme === olderScheme) void this.#deps.loadMore();
  }

  #unregister(): void {
    this.#provider?.dispose();
    this.#provider = undefined;
  }
}
