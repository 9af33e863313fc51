import assert from "node:assert/strict";
import type { PipelineEntry } from "../../../src/contract/pipelines.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { memoryMemento } from "../memoryMemento.ts";

describe("the list of pipelines to run", () => {
  it("begins with those that were run last, and ends with those that can't be run", async () => {
    const lastUsed = new LastUsed(memoryMemento());
    lastUsed.note("shop", "nightly");
    lastUsed.note("shop", "broken");
    const entry = (name: string, problem?: string): PipelineEntry => ({
      name,
      project: "shop",
      path: `pipelines/${name}.yaml`,
      resourceTypes: [],
      ...(problem === undefined ? {} : { problem }),
    });
    const ordered = lastUsed.order([
      entry("a broken one", "no steps"),
      entry("broken", "no steps"),
      entry("hello"),
      entry("nightly"),
    ]);
    assert.deepEqual(
      ordered.map(({ name }) => name),
      ["nightly", "hello", "broken", "a broken one"],
    );
  });
});
