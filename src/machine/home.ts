import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../project/environment.ts";

/** The user's home folder; undefined where there is none, as for a user of a container. An empty or relative HOME counts as none. */
export function homeFolder(home = homedir): string | undefined {
  try {
    const folder = home();
    return isAbsolute(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A path as a person writes it, with the home folder for `~`: a shell puts it in only at the beginning of an unquoted word, and so
 * not in `--to=~/x`, and an editor's settings have no shell.
 */
export function withHome(path: string, home?: typeof homedir): string {
  const [, rest] = /^~($|[/\\].*)/s.exec(path) ?? [];
  const folder = rest === undefined ? undefined : homeFolder(home);
  return rest === undefined || folder === undefined ? path : join(folder, rest);
}

/**
 * The folder that a variable of the system's customs names, such as XDG_DATA_HOME; undefined for none, and for a relative one, as the
 * XDG base directory specification says. A snap, as VS Code's may be, sets them to folders of its own, and of its version: what
 * they were before counts, which is what a terminal has.
 */
export function customaryFolder(env: Environment, variable: string): string | undefined {
  const named = env[variable] ?? "";
  const ofSnap = [env["SNAP_USER_DATA"], env["SNAP_USER_COMMON"]];
  const isSnaps = ofSnap.some((folder) => folder && `${named}/`.startsWith(`${folder}/`));
  const folder = isSnaps ? (env[`${variable}_VSCODE_SNAP_ORIG`] ?? "") : named;
  return isAbsolute(folder) ? folder : undefined;
}
