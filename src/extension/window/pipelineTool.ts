import { basename, delimiter, join } from "node:path";
import type * as vscode from "vscode";
import type { EnvironmentVariableCollection } from "vscode";

const pathName = "PATH";
const runtimeName = "PIPELINE_EDITOR_RUNTIME";

interface TerminalPathDeps {
  readonly extensionFolder: string;
  /** The runtime of this extension, which also runs the tool. */
  readonly execPath: string;
}

/**
 * Adds the command `pipeline` to the PATH of the editor's terminals: last, so that an installed tool of that name takes
 * precedence. The collection outlives the window, so it is written only when it changes, which spares each window the cost.
 */
export function putToolOnPath(
  variables: EnvironmentVariableCollection,
  { extensionFolder, execPath }: TerminalPathDeps,
): void {
  const path = `${delimiter}${join(extensionFolder, "bin")}`;
  if (variables.get(pathName)?.value === path && variables.get(runtimeName)?.value === execPath) return;
  variables.description = "Lets the command `pipeline` be found.";
  variables.append(pathName, path);
  variables.replace(runtimeName, execPath);
}

interface McpApi {
  readonly workspace: Pick<typeof vscode.workspace, "isTrusted" | "workspaceFolders">;
  readonly McpStdioServerDefinition: typeof vscode.McpStdioServerDefinition;
}

/**
 * The MCP servers for agents in this window: the tool that comes with the extension, for each folder with pipelines. The tool
 * uses its own login, so it gets no key from here. None in an untrusted workspace, whose files would decide what is run.
 */
export async function mcpServers(
  { workspace, McpStdioServerDefinition }: McpApi,
  { extensionPath, extension }: Pick<vscode.ExtensionContext, "extensionPath" | "extension">,
  holdsPipelines: (folder: vscode.Uri) => Promise<boolean>,
): Promise<vscode.McpStdioServerDefinition[]> {
  if (!workspace.isTrusted) return [];
  const folders = (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const found = await Promise.all(folders.map(({ uri }) => holdsPipelines(uri)));
  const projects = folders.filter((_, index) => found[index]);
  return projects.map(({ uri }) => {
    const label = projects.length === 1 ? "Pipeline Runs" : `Pipeline Runs: ${basename(uri.fsPath)}`;
    const args = [join(extensionPath, "dist", "cli.js"), "mcp"];
    // For a runtime that is Electron; Node.js itself ignores it.
    const env = { ELECTRON_RUN_AS_NODE: "1" };
    const { version } = extension.packageJSON;
    const server = new McpStdioServerDefinition(label, process.execPath, args, env, String(version));
    server.cwd = uri;
    return server;
  });
}
