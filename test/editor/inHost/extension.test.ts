import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import * as vscode from "vscode";
import { ProgressLocation } from "../../../src/extension/window/editorEnums.ts";

const id = "pipeline-runs.pipeline-runs";

describe("the extension, inside the editor's host", () => {
  let extension: vscode.Extension<unknown>;

  before(async () => {
    const found = vscode.extensions.getExtension(id);
    assert(found !== undefined, `${id} is not installed`);
    extension = found;
    await extension.activate();
  });

  it("is active and registers every command that its manifest contributes", async () => {
    assert(extension.isActive);
    const registered = await vscode.commands.getCommands(true);
    for (const { command } of extension.packageJSON.contributes.commands) {
      assert(registered.includes(command), command);
    }
  });

  it("has settings that no workspace can set, which would redirect the key", async () => {
    const settings = () => vscode.workspace.getConfiguration("pipelineRuns");
    for (const name of ["baseUrl", "cliPath"]) {
      const write = settings().update(name, "https://evil.example", vscode.ConfigurationTarget.Workspace);
      await assert.rejects(Promise.resolve(write));
      assert.equal(settings().get(name), "");
    }
  });

  it("starts no service and keeps no file in a window without pipelines", async () => {
    const folder = process.env["PIPELINE_DATA_DIR"];
    assert(folder !== undefined, "the launcher gives the tests a data folder of their own");
    assert.deepEqual(await readdir(folder), []);
  });

  it("uses the editor's own numbers where a plain test can't load the editor", () => {
    assert.equal(ProgressLocation.notification, vscode.ProgressLocation.Notification);
    assert.equal(ProgressLocation.window, vscode.ProgressLocation.Window);
  });
});
