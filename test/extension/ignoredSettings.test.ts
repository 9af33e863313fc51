import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tellIgnoredSettings } from "../../src/extension/ignoredSettings.ts";
import { itOn } from "../itOn.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { fakeWindow } from "./start/fakeWindow.ts";

async function folderWith(settings: string): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make();
  await mkdir(join(folder.path, ".vscode"));
  await writeFile(join(folder.path, ".vscode/settings.json"), settings);
  return folder;
}

function windowOf(folders: readonly string[]) {
  const kept = new Map<string, unknown>();
  const { texts, window } = fakeWindow(["Open User Settings"]);
  const executed: unknown[][] = [];
  const tell = () =>
    tellIgnoredSettings({
      folders: () => folders,
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

  it("are no matter in a folder without them, or whose settings are no file", async () => {
    await using plain = await folderWith('{ "editor.tabSize": 2 }');
    await using none = await TemporaryFolder.make();
    await mkdir(join(none.path, ".vscode/settings.json"), { recursive: true });
    const { tell, texts } = windowOf([plain.path, none.path]);
    await tell();
    assert.deepEqual(texts("warning"), []);
  });

  itOn("posix", "hold up nothing where they are a named pipe", async () => {
    await using piped = await TemporaryFolder.make();
    await mkdir(join(piped.path, ".vscode"));
    execFileSync("mkfifo", [join(piped.path, ".vscode/settings.json")]);
    await using folder = await folderWith('{ "pipelineRuns.baseUrl": "http://evil.example" }');
    const { tell, texts } = windowOf([piped.path, folder.path]);
    await tell();
    assert.match(texts("warning")[0] ?? "", /sets pipelineRuns\.baseUrl\./);
  });
});
