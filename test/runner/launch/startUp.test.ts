import assert from "node:assert/strict";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { loadedFiles } from "../../loadedFiles.ts";

describe("the start of a runner", () => {
  it("reads little until its job says what it needs", async () => {
    const { nodes, names, kilobytes } = await loadedFiles([join(projectRoot, "dist/runner.js")]);
    assert.ok(kilobytes < 120, `${kilobytes} KB: ${names}`);
    // They take as long to load as all of that.
    assert.deepEqual(
      ["http", "https", "tls", "internal/deps/undici/undici"].filter((name) => nodes.includes(name)),
      [],
    );
  });
});
