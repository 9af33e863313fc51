import assert from "node:assert/strict";
import { join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../scripts/projectRoot.ts";

describe("the tool, in the editor's own runtime", () => {
  it("reads its command line as in Node", async () => {
    const electron =
      "data:text/javascript,Object.defineProperty(process.versions,'electron',{value:'39.0.0'})";
    const { exitCode, stdout, stderr } = await execa(
      process.execPath,
      ["--import", electron, join(projectRoot, "dist", "cli.js"), "run", "--help"],
      { reject: false },
    );
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^Usage: pipeline run /);
  });
});
