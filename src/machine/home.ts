import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../project/environment.ts";

/** The user's home folder; undefined if there is none, as in some containers. An empty or relative HOME counts as none. */
export function homeFolder(home = homedir): string | undefined {
  try {
    const folder = home();
    return isAbsolute(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces a leading `~` with the home folder. A shell does that only at the beginning of an unquoted word, so not in `--to=~/x`,
 * and no shell reads an editor's settings.
 */
export function withHome(path: string, home?: typeof homedir): string {
  const [, rest] = /^~($|[/\\].*)/s.exec(path) ?? [];
  const folder = rest === undefined ? undefined : homeFolder(home);
  return rest === undefined || folder === undefined ? path : join(folder, rest);
}

/**
 * The folder that a standard variable such as XDG_DATA_HOME names; undefined if it is unset or, as the XDG base directory
 * specification says, relative. The snap of VS Code sets these variables to folders of its own version: there the original values
 * count, which a terminal has too.
 */
export function customaryFolder(env: Environment, variable: string): string | undefined {
  const named = env[variable] ?? "";
  const ofSnap = [env["SNAP_USER_DATA"], env["SNAP_USER_COMMON"]];
  const isSnaps = ofSnap.some((folder) => folder && `${named}/`.startsWith(`${folder}/`));
  const folder = isSnaps ? (env[`${variable}_VSCODE_SNAP_ORIG`] ?? "") : named;
  return isAbsolute(folder) ? folder : undefined;
}
