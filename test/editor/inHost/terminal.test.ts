import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import { until } from "../../until.ts";

const id = "pipeline-runs.pipeline-runs";

describe("a terminal of the editor", () => {
  it("finds the command `pipeline`, of the version that the extension has", async () => {
    const extension = vscode.extensions.getExtension(id);
    assert(extension !== undefined);
    await extension.activate();
    const folder = await mkdtemp(join(tmpdir(), "pipeline-runs-terminal-"));
    const terminal = vscode.window.createTerminal({ name: "test" });
    try {
      const [part, told] = [join(folder, "part"), join(folder, "told")];
      terminal.sendText(`pipeline --version > "${part}" && mv "${part}" "${told}"`);
      const version = await until(() => readFile(told, "utf8").catch(() => undefined));
      assert.equal(version.trim(), extension.packageJSON.version);
    } finally {
      terminal.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
