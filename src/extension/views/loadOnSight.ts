import type { Disposable, FileDecorationProvider, Uri } from "vscode";
import type { RunListState } from "../session/runList.ts";
import type { ObservableValue } from "../window/observable.ts";
import { olderScheme } from "./runRow.ts";

export interface LoadOnSightDeps {
  readonly state: ObservableValue<RunListState>;
  readonly register: (provider: FileDecorationProvider) => Disposable;
  readonly loadMore: () => Promise<void>;
}

/**
 * Loads the next page of older runs as the person scrolls to its row. A tree tells nobody that it is scrolled; but the editor
 * asks for a file's decorations just when it draws the row of that file, once for each address. The row for older runs
 * has an address of its own, so being asked for its decorations means that it is on the screen.
 */
export class LoadOnSight implements Disposable {
  readonly #following: Disposable;
  readonly #deps: LoadOnSightDeps;
  #provider: Disposable | undefined;

  constructor(deps: LoadOnSightDeps) {
    this.#deps = deps;
    // The editor asks every such provider about every file that it draws, so there is one only while there is a row.
    this.#following = deps.state.observe((state) => {
      const hasRow = state.kind === "listed" && state.hasMore;
      if (hasRow) this.#provider ??= deps.register({ provideFileDecoration: (uri) => this.#seen(uri) });
      else this.#rest();
    });
  }

  dispose(): void {
    this.#following.dispose();
    this.#rest();
  }

  #seen({ scheme }: Uri): undefined {
    if (scheme === olderScheme) void this.#deps.loadMore();
  }

  #rest(): void {
    this.#provider?.dispose();
    this.#provider = undefined;
  }
}
