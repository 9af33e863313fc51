import assert from "node:assert/strict";
import { rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import * as vscode from "vscode";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";

describe("pipeline files whose folder is a link to one elsewhere, inside the editor's host", () => {
  it("have their problems as they change there, each once, under the project's own path", async () => {
    const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? assert.fail("no folder is open");
    const settings = vscode.workspace.getConfiguration("pipelineRuns");
    // A service that isn't there: none is started for the pipelines that are written here.
    await settings.update("baseUrl", "http://127.0.0.1:9", vscode.ConfigurationTarget.Global);
    await using elsewhere = await TemporaryFolder.make();
    const write = (name: string, text: string) => writeFile(join(elsewhere.path, name), text);
    const wrong = () =>
      vscode.languages.getDiagnostics().flatMap(([{ fsPath }, problems]) => problems.map(() => fsPath));
    const areWrong = (...names: string[]) =>
      until(async () => {
        const found = wrong()
          .sort()
          .map((path) => basename(path));
        return JSON.stringify(found) === JSON.stringify(names);
      });
    await write("a.yaml", "steps: []\n");
    await symlink(elsewhere.path, join(root, "pipelines"), "junction");
    try {
      await areWrong("a.yaml");
      await write("b.yaml", "steps: []\n");
      await areWrong("a.yaml", "b.yaml");
      assert.deepEqual(
        wrong().sort(),
        ["a.yaml", "b.yaml"].map((name) => join(root, "pipelines", name)),
      );
      await rm(join(elsewhere.path, "b.yaml"));
      await areWrong("a.yaml");
    } finally {
      await rm(join(root, "pipelines"));
      await areWrong();
      await settings.update("baseUrl", undefined, vscode.ConfigurationTarget.Global);
    }
  });
});
