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
 * Loads the next page of older runs as the person scrolls to its row. A tree tells nobody that it is scrolled; but the editor
 * asks for a file's decorations just when it draws the row of that file, once for each address. The row for older runs
 * has an address of its own, so being asked for its decorations means that it is on the screen.
 */
export class LoadOnScroll implements Disposable {
  readonly #following: Disposable;
  readonly #deps: LoadOnScrollDeps;
  #provider: Disposable | undefined;

  constructor(deps: LoadOnScrollDeps) {
    this.#deps = deps;
    // The editor asks every such provider about every file that it draws, so there is one only while there is a row.
    this.#following = deps.state.observe((state) => {
      const hasRow = state.kind === "listed" && state.hasMore;
      if (hasRow) this.#provider ??= deps.register({ provideFileDecoration: (uri) => this.#onShown(uri) });
      else this.#unregister();
    });
  }

  dispose(): void {
    this.#following.dispose();
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
