import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as vscode from "vscode";
import { programPipeline } from "../../service/startedService.ts";

describe("agents in the editor", () => {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  assert(folder !== undefined);
  const root = folder.uri.fsPath;

  before(async () => {
    await vscode.extensions.getExtension("pipeline-runs.pipeline-runs")?.activate();
    await mkdir(join(root, "pipelines"));
    await writeFile(join(root, "pipelines", "hello.yaml"), programPipeline(""));
  });
  after(async () => {
    await vscode.commands.executeCommand("workbench.mcp.stopServer", "*");
    await rm(join(root, "pipelines"), { recursive: true });
  });

  it("find the tools of `pipeline mcp` with no setting, once the folder has pipelines", async () => {
    let tools: readonly string[] = [];
    while (!tools.some((name) => name.endsWith("start_run"))) {
      // It starts the servers that the editor knows by now.
      await vscode.commands.executeCommand("workbench.mcp.startServer", "*", {
        autoTrustChanges: true,
        waitForLiveTools: true,
      });
      tools = vscode.lm.tools.map(({ name }) => name);
      await pause(100);
    }
    const name = tools.find((each) => each.endsWith("list_pipelines"));
    assert(name !== undefined);
    const { content } = await vscode.lm.invokeTool(name, { input: {}, toolInvocationToken: undefined });
    const text = content
      .map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : ""))
      .join("");
    assert.match(text, /hello/);
  });
});
