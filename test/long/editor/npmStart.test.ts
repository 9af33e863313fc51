import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { serverEnvironment } from "../../../scripts/editor/serverFolders.ts";
import { Program } from "../../../scripts/process/program.ts";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

describe("what npm start serves, on a fresh profile", function () {
  this.timeout(300_000);
  const folder = temporaryFolder();

  it("is a VS Code with the extension as it lies in the checkout, behind a front door, for whoever has its address", async () => {
    const words = [
      "--served",
      "--no-build",
      "--port",
      "0",
      "--data-dir",
      join(folder.path, "editor"),
      folder.path,
    ];
    await using start = new Program(process.execPath, [join(projectRoot, "scripts/start.ts"), ...words], {
      env: serverEnvironment(),
    });
    const found = await start.outputMatching(/ready: (http:\S+)/, new AbortController().signal);
    const address = found?.[1] ?? assert.fail(start.output);
    const entered = await fetch(address, { redirect: "manual" });
    assert.equal(entered.status, 302);
    const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const page = await fetch(new URL(entered.headers.get("location") ?? "", address), {
      headers: { cookie },
    });
    assert.match(await page.text(), /vscode-workbench-web-configuration/);
    const mint = new URL("/mint-key", address);
    assert.equal((await fetch(mint, { method: "POST", headers: { cookie } })).status, 200);
    assert.equal((await fetch(mint, { method: "POST" })).status, 403);
    const [listed] = JSON.parse(
      await readFile(join(folder.path, "editor/extensions/extensions.json"), "utf8"),
    );
    assert.equal(listed.location.path, projectRoot);
  });
});
