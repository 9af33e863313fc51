import assert from "node:assert/strict";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { foldersChanged } from "./foldersChanged.ts";

describe("the pipeline files of a project under two names, inside the editor's host", () => {
  it("have their problems once, where the window has a folder and a link to it", async () => {
    const { workspaceFolders: [folder] = [] } = vscode.workspace;
    assert(folder !== undefined);
    const root = folder.uri.fsPath;
    await using elsewhere = await TemporaryFolder.make();
    const link = join(elsewhere.path, "link");
    await symlink(root, link, "junction");
    await mkdir(join(root, "pipelines"));
    const wrong = (name: string) =>
      [root, link]
        .map((each) => vscode.Uri.file(join(each, "pipelines", name)))
        .filter((uri) => vscode.languages.getDiagnostics(uri).length > 0).length;
    const change = foldersChanged();
    vscode.workspace.updateWorkspaceFolders(1, 0, { uri: vscode.Uri.file(link) });
    try {
      // The folders are there before there is a pipeline file in them.
      await change;
      await writeFile(join(root, "pipelines/a.yaml"), "steps: []\n");
      await until(async () => wrong("a.yaml") > 0);
      await writeFile(join(root, "pipelines/b.yaml"), "steps: []\n");
      await until(async () => wrong("b.yaml") > 0);
      // The API keeps what it opens itself open for minutes.
      await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(join(link, "pipelines/a.yaml")));
      await until(async () => wrong("a.yaml") === 2);
      // Closed, it is looked at behind all of the second folder.
      await vscode.commands.executeCommand("workbench.action.closeAllEditors");
      await until(async () => wrong("a.yaml") === 1);
      assert.equal(wrong("b.yaml"), 1);
    } finally {
      const back = foldersChanged();
      vscode.workspace.updateWorkspaceFolders(1, 1);
      await back;
      await rm(join(root, "pipelines"), { recursive: true });
      await until(async () => wrong("a.yaml") === 0);
    }
  });
});
