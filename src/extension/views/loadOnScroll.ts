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
 * Loads the next page of older runs when the person scrolls to its row. A tree doesn't report scrolling, but the editor asks for
 * a file's decorations when it draws the file's row, so the row for older runs has a URI of its own.
 */
export function loadOnScroll({ state, register, loadMore }: LoadOnScrollDeps): Disposable {
  let provider: Disposable | undefined;
  const unregister = (): void => {
    provider?.dispose();
    provider = undefined;
  };
  const onShown = ({ scheme }: Uri): undefined => {
    if (scheme === olderScheme) void loadMore();
  };
  // Registered only while there is such a row, since the editor asks the provider about every file that it draws.
  const subscription = state.observe((list) => {
    if (list.kind === "listed" && list.hasMore) provider ??= register({ provideFileDecoration: onShown });
    else unregister();
  });
  return {
    dispose: () => {
      subscription.dispose();
      unregister();
    },
  };
}
