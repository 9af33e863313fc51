import { delimiter, join } from "node:path";
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
