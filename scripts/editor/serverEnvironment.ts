import { withoutScriptVariables } from "../process/npm.ts";

/**
 * The server's environment: this process's, without what another VS Code left in it (a terminal of VS Code does) and
 * what npm set for its script, then `changes`.
 */
export function serverEnvironment(changes: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(withoutScriptVariables(process.env)).filter(
    ([name]) => !name.startsWith("VSCODE_") && name !== "ELECTRON_RUN_AS_NODE" && name !== "NODE_OPTIONS",
  );
  return { ...Object.fromEntries(own), ...changes };
}
