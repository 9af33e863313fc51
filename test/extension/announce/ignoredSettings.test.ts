import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { warnOfIgnoredSettings } from "../../../src/extension/announce/notices.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { fakeWindow } from "../start/fakeWindow.ts";

async function folderWith(settings: string): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make();
  await mkdir(join(folder.path, ".vscode"));
  await writeFile(join(folder.path, ".vscode/settings.json"), settings);
  return folder;
}

function windowOf(folders: readonly string[], workspaceFile?: string) {
  const kept = new Map<string, unknown>();
  const { texts, window } = fakeWindow(["Open User Settings"]);
  const executed: unknown[][] = [];
  const tell = () =>
    warnOfIgnoredSettings({
      folders: () => folders,
      workspaceFile: () => workspaceFile,
      memento: {
        get: (name: string) => kept.get(name) as never,
        update: async (name: string, value: unknown) => void kept.set(name, value),
      },
      window,
      executeCommand: async (...command) => executed.push(command),
    });
  return { tell, texts, executed };
}

describe("settings that a workspace can't set", () => {
  it("are named once, with where they can be set, also where the file is no JSON", async () => {
    await using folder = await folderWith(
      `{ // a comment\n "pipelineRuns.cliPath": "./evil", "pipelineRuns.baseUrl": "http://evil.example", }`,
    );
    const { tell, texts, executed } = windowOf([folder.path]);
    await tell();
    await tell();
    assert.equal(texts("warning").length, 1);
    assert.match(
      texts("warning")[0] ?? "",
      /sets pipelineRuns\.baseUrl, pipelineRuns\.cliPath\. It is not used/,
    );
    assert.deepEqual(executed, [["workbench.action.openSettings", "pipelineRuns."]]);
    await writeFile(join(folder.path, ".vscode/settings.json"), '{ "pipelineRuns.announce": "none" }');
    await tell();
    assert.match(texts("warning")[1] ?? "", /sets pipelineRuns\.announce\./);
  });

  it("are found in the workspace's own file, too, and in folders that come later", async () => {
    await using place = await TemporaryFolder.make();
    const file = join(place.path, "all.code-workspace");
    await writeFile(file, '{ "folders": [], "settings": { "pipelineRuns.cliPath": "./evil" } }');
    await using later = await folderWith('{ "pipelineRuns.announce": "none" }');
    const folders: string[] = [];
    const { tell, texts } = windowOf(folders, file);
    await tell();
    assert.match(texts("warning")[0] ?? "", /sets pipelineRuns\.cliPath\. It is not used/);
    folders.push(later.path);
    await tell();
    assert.match(texts("warning")[1] ?? "", /sets pipelineRuns\.announce, pipelineRuns\.cliPath\./);
  });

  it("are no matter in a folder without them, or whose settings are no file", async () => {
    await using plain = await folderWith('{ "editor.tabSize": 2 }');
    await using none = await TemporaryFolder.make();
    await mkdir(join(none.path, ".vscode/settings.json"), { recursive: true });
    const { tell, texts } = windowOf([plain.path, none.path]);
    await tell();
    assert.deepEqual(texts("warning"), []);
  });

  itOn("posix", "hold up nothing where they are named pipes that nobody writes to", async () => {
    await using folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, ".vscode"));
    execFileSync("mkfifo", [join(folder.path, ".vscode/settings.json")]);
    const { tell, texts } = windowOf([folder.path]);
    await tell();
    assert.deepEqual(texts("warning"), []);
  });
});
