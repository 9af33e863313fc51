import assert from "node:assert/strict";
import { execa } from "execa";

/** Elsewhere than on Linux, where the VS Code is from npm, a desktop one is downloaded. */
const editor = process.platform === "linux" ? [] : ["--desktop", "stable"];

describe("the extension, in the editor's own process for extensions", function () {
  this.timeout(600_000);

  it("passes the tests in `inHost/`, which call the editor's API", async () => {
    const program = ["test/editor/inHost/run.ts", ...editor];
    const { exitCode, all } = await execa(process.execPath, program, { all: true, reject: false });
    assert.equal(exitCode, 0, all);
    assert.match(all, /\d+ passing/);
  });
});
