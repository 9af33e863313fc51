import assert from "node:assert/strict";
import type { TreeDataProvider } from "vscode";
import { lazyTree } from "../../../src/extension/views/treeViews.ts";
import { Emitter } from "../../../src/extension/window/observable.ts";

describe("a view whose code comes when it is opened", () => {
  it("loads once, when the editor first asks, and passes its changes on", async () => {
    const news = new Emitter<string | string[] | undefined>();
    let loads = 0;
    const tree: TreeDataProvider<string> = {
      onDidChangeTreeData: (listener: (changed: string | string[] | undefined) => unknown) =>
        news.subscribe(listener),
      getChildren: () => ["a row"],
      getTreeItem: (label) => ({ label }),
      resolveTreeItem: (item) => ({ ...item, tooltip: "a tooltip" }),
    };
    const lazy = lazyTree(async () => {
      loads += 1;
      return tree;
    });
    const changes: unknown[] = [];
    lazy.onDidChangeTreeData((changed) => changes.push(changed));
    assert.equal(loads, 0);
    assert.deepEqual(await lazy.getChildren(), ["a row"]);
    assert.deepEqual(await lazy.getChildren(), ["a row"]);
    assert.equal(loads, 1);
    assert.deepEqual(await lazy.getTreeItem("a row"), { label: "a row" });
    const resolved = await lazy.resolveTreeItem({ label: "a row" }, "a row", {} as never);
    assert.equal(resolved.tooltip, "a tooltip");
    news.emit("a row");
    news.emit(undefined);
    assert.deepEqual(changes, ["a row", undefined]);
    lazy.dispose();
    news.emit("a row");
    assert.equal(changes.length, 2);
  });

  it("has no rows as long as its code can't be had, and tries again", async () => {
    let tree: TreeDataProvider<string> | undefined;
    const lazy = lazyTree(async () => tree);
    assert.deepEqual(await lazy.getChildren(), []);
    tree = { getChildren: () => ["a row"], getTreeItem: (label) => ({ label }) };
    assert.deepEqual(await lazy.getChildren(), ["a row"]);
  });
});
