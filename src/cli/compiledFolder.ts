import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { Environment } from "../client/environment.ts";

/**
 * The folder of Node's compile cache, created where it is missing: `PIPELINE_CACHE_DIR`, or the system's cache folder. V8 runs
 * what it finds there, so nobody else may be able to write to it or replace it; Node's default, among temporary files, doesn't
 * check that.
 *
 * @returns undefined where there is no such folder.
 */
export function compiledFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const folder = env["PIPELINE_CACHE_DIR"] || customaryFolder(env, platform);
  if (folder === undefined || !isAbsolute(folder)) return undefined;
  try {
    // Root may have another user's home, where nothing is created.
    if (!isSafe(realpathSync(nearestThere(folder)))) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The real path: somebody else could change a link.
    const real = realpathSync(folder);
    return isOwn(real) ? real : undefined;
  } catch {
    return undefined;
  }
}

function customaryFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const below = (name: string, ...parts: string[]) => (env[name] ? join(env[name], ...parts) : undefined);
  switch (platform) {
    case "win32":
      return below("LOCALAPPDATA", "pipeline-runs", "Cache");
    case "darwin":
      return below("HOME", "Library", "Caches", "pipeline-runs");
    default:
      return below("XDG_CACHE_HOME", "pipeline-runs") ?? below("HOME", ".cache", "pipeline-runs");
  }
}

/** The folder, or the one above it that is there already. */
function nearestThere(folder: string): string {
  return existsSync(folder) ? folder : nearestThere(dirname(folder));
}

/** Whether a folder is this user's alone. Users of Windows have no number; there the access list of the profile that the folder is in says who may. */
function isOwn(folder: string): boolean {
  const own = process.getuid?.();
  if (own === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === own && (mode & 0o022) === 0 && isSafe(dirname(folder));
}

/**
 * Whether a folder, and each that it is in, belongs to this user or to the system and lets nobody else exchange what is in it: it is not
 * for others to write to, or sticky as `/tmp` is.
 */
function isSafe(folder: string): boolean {
  const own = process.getuid?.();
  if (own === undefined) return true;
  const { uid, gid, mode } = statSync(folder);
  // Many systems make a group for each user, which has the user's number and nobody else in it.
  const others = uid === own && gid === own ? 0o002 : 0o022;
  const isSticky = (mode & 0o1000) !== 0;
  if ((uid !== own && uid !== 0) || ((mode & others) !== 0 && !isSticky)) return false;
  return folder === dirname(folder) || isSafe(dirname(folder));
}
