import { delimiter, join } from "node:path";
import type { EnvironmentVariableCollection } from "vscode";

const pathName = "PATH";
const runtimeName = "PIPELINE_EDITOR_RUNTIME";

interface TerminalPathDeps {
  /** The extension's own folder, absolute. */
  readonly extensionFolder: string;
  /** The runtime that this extension is in, which runs the tool as well. */
  readonly execPath: string;
}

/**
 * Lets a terminal of the editor find the command `pipeline` on its PATH: last on it, so that a tool of that name which
 * someone has installed stays the one they get. The collection outlives the window, so that a terminal which is
 * open before the extension is active has it too; the editor drops it with the extension. What it has already isn't written
 * again: each window would pay for that. Another version has another folder.
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
