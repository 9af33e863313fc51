import { delimiter, join } from "node:path";
import type { EnvironmentVariableCollection } from "vscode";

interface TerminalPathDeps {
  /** The extension's own folder, absolute. */
  readonly extensionFolder: string;
  /** The runtime that this extension is in, which runs the tool as well. */
  readonly execPath: string;
}

/**
 * Lets a terminal of the editor find the command `pipeline` on its PATH: last on it, so that a tool of that name which
 * someone has installed stays the one they get. The collection outlives the window, so that a terminal which is
 * open before the extension is active has it too; the editor drops it with the extension.
 */
export function putToolOnPath(
  variables: EnvironmentVariableCollection,
  { extensionFolder, execPath }: TerminalPathDeps,
): void {
  variables.description = "Lets the command `pipeline` be found.";
  variables.append("PATH", `${delimiter}${join(extensionFolder, "bin")}`);
  variables.replace("PIPELINE_EDITOR_RUNTIME", execPath);
}
