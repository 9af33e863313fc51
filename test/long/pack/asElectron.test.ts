import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { toolbox } from "../../cli/toolbox.ts";
import { itOn } from "../../itOn.ts";

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

  itOn("posix", "lets no program that it opens take itself for Node", async () => {
    await using tool = await toolbox();
    const [browser, told] = [join(tool.project, "browser"), join(tool.project, "told")];
    await writeFile(
      browser,
      `#!/bin/sh\necho "as node: $ELECTRON_RUN_AS_NODE." > '${told}.part'\nmv '${told}.part' '${told}'\n`,
    );
    await chmod(browser, 0o755);
    const env = { BROWSER: browser, ELECTRON_RUN_AS_NODE: "1" };
    assert.equal((await tool.run(["page", "--open"], env)).exitCode, 0);
    let text = "";
    while (text === "") text = await readFile(told, "utf8").catch(() => "");
    assert.equal(text, "as node: .\n");
  });
});
