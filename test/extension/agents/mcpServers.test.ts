import assert from "node:assert/strict";
import { basename, join } from "node:path";
import type * as vscode from "vscode";
import { mcpServers } from "../../../src/extension/window/pipelineTool.ts";

/** As the editor makes it. */
class Definition implements vscode.McpStdioServerDefinition {
  cwd?: vscode.Uri;
  readonly label: string;
  command: string;
  args: string[];
  env: Record<string, string | number | null>;
  version?: string;

  constructor(
    label: string,
    command: string,
    args: string[] = [],
    env: Definition["env"] = {},
    version?: string,
  ) {
    this.label = label;
    this.command = command;
    this.args = args;
    this.env = env;
    if (version !== undefined) this.version = version;
  }
}

async function offered(folders: readonly string[], { isTrusted = true, scheme = "file" } = {}) {
  const workspaceFolders = folders.map((fsPath, index) => {
    const uri = { scheme, fsPath } as vscode.Uri;
    return { uri, name: basename(fsPath), index };
  });
  const extension = { packageJSON: { version: "1.2.3" } } as vscode.Extension<unknown>;
  return mcpServers(
    { workspace: { isTrusted, workspaceFolders }, McpStdioServerDefinition: Definition },
    { extensionPath: "/extension", extension },
    async ({ fsPath }) => fsPath !== "/plain",
  );
}

describe("the servers that agents in a window may use", () => {
  it("are the extension's own tool in each folder with pipelines, with no key", async () => {
    const servers = await offered(["/shop", "/plain", "/blog"]);
    assert.deepEqual(
      servers.map(({ label, cwd }) => [label, cwd?.fsPath]),
      [
        ["Pipeline Runs: shop", "/shop"],
        ["Pipeline Runs: blog", "/blog"],
      ],
    );
    const [{ command, args, env, version, label } = assert.fail()] = await offered(["/shop"]);
    assert.deepEqual(
      { command, args, env, version, label },
      {
        command: process.execPath,
        args: [join("/extension", "dist", "cli.js"), "mcp"],
        env: { ELECTRON_RUN_AS_NODE: "1" },
        version: "1.2.3",
        label: "Pipeline Runs",
      },
    );
  });

  it("are none in a workspace that isn't trusted, nor in folders that aren't on this machine", async () => {
    assert.deepEqual(await offered(["/shop"], { isTrusted: false }), []);
    assert.deepEqual(await offered(["/shop"], { scheme: "vscode-vfs" }), []);
    assert.deepEqual(await offered([]), []);
  });
});
