import assert from "node:assert/strict";
import type { FileDecorationProvider } from "vscode";
import type { RunListState } from "../../../src/extension/session/runList.ts";
import { loadOnScroll } from "../../../src/extension/views/loadOnScroll.ts";
import { ObservableValue } from "../../../src/extension/window/observable.ts";

describe("loading older runs as their row comes on the screen", () => {
  it("listens only while there is such a row, and to no other file", async () => {
    const state = new ObservableValue<RunListState>({ kind: "unknown" });
    const providers = new Set<FileDecorationProvider>();
    let loads = 0;
    const sight = loadOnScroll({
      state,
      register: (provider) => {
        providers.add(provider);
        return { dispose: () => providers.delete(provider) };
      },
      loadMore: async () => void loads++,
    });
    const listed = (hasMore: boolean): RunListState => ({
      kind: "listed",
      runs: [],
      hasMore,
      me: "key_1",
      clockAhead: 0,
    });
    assert.equal(providers.size, 0);
    state.set(listed(true));
    state.set(listed(true));
    assert.equal(providers.size, 1);
    const [provider] = providers;
    const ask = (scheme: string) => provider?.provideFileDecoration({ scheme } as never, {} as never);
    assert.equal(ask("file"), undefined);
    assert.equal(loads, 0);
    assert.equal(ask("pipeline-runs-older"), undefined);
    assert.equal(loads, 1);
    state.set(listed(false));
    assert.equal(providers.size, 0);
    state.set(listed(true));
    sight.dispose();
    assert.equal(providers.size, 0);
  });
});
