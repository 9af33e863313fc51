import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import module from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import type { Environment } from "../project/environment.ts";
import { customaryFolder, withHome } from "./home.ts";

/** Has Node cache the compiled code of what this process loads from now on, so that the next one needn't compile it. */
export function keepCompiled(): void {
  const folder = compiledFolder(process.env, process.platform);
  if (folder === undefined) return;
  // Node makes a folder in it that anyone can write to.
  const mask = process.umask(0o077);
  // Node.js has it since 22.8.
  module.enableCompileCache?.(folder);
  process.umask(mask);
}

/**
 * The folder of Node's compile cache, created where it is missing: `PIPELINE_CACHE_DIR`, or the system's cache folder. V8 runs
 * what it finds there, so nobody else may be able to write to it or replace it; Node's default, among temporary files, doesn't
 * check that.
 *
 * @returns undefined where there is no such folder.
 */
export function compiledFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const folder = withHome(env["PIPELINE_CACHE_DIR"] ?? "") || cacheFolder(env, platform);
  if (folder === undefined || !isAbsolute(folder)) return undefined;
  try {
    // The home that root has may be another user's, where nothing is created.
    if (!isSafe(realpathSync(nearestThere(folder)))) return undefined;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The real path: somebody else could change a link.
    const real = realpathSync(folder);
    return isOwn(real) ? real : undefined;
  } catch {
    return undefined;
  }
}

function cacheFolder(env: Environment, platform: NodeJS.Platform): string | undefined {
  const below = (variable: string, ...parts: string[]) => {
    const folder = customaryFolder(env, variable);
    return folder && join(folder, ...parts);
  };
  switch (platform) {
    case "win32":
      return below("LOCALAPPDATA", "pipeline-runs", "Cache");
    case "darwin":
      return below("HOME", "Library", "Caches", "pipeline-runs");
    default:
      return below("XDG_CACHE_HOME", "pipeline-runs") ?? below("HOME", ".cache", "pipeline-runs");
  }
}

/** The folder or its nearest existing parent. */
function nearestThere(folder: string): string {
  return existsSync(folder) ? folder : nearestThere(dirname(folder));
}

/** Whether a folder is this user's alone. On Windows, which has no user ids, the access list of the profile decides. */
function isOwn(folder: string): boolean {
  const own = process.getuid?.();
  if (own === undefined) return true;
  const { uid, mode } = statSync(folder);
  return uid === own && (mode & 0o022) === 0 && isSafe(dirname(folder));
}

/**
 * Whether a folder and all its parents belong to this user or the system, and no one else can replace their entries: they
 * aren't writable by others, or are sticky like `/tmp`.
 */
function isSafe(folder: string): boolean {
  const own = process.getuid?.();
  if (own === undefined) return true;
  const { uid, gid, mode } = statSync(folder);
  // Many systems have a group for each user, with the same id and no other member.
  const others = uid === own && gid === own ? 0o002 : 0o022;
  const isSticky = (mode & 0o1000) !== 0;
  if ((uid !== own && uid !== 0) || ((mode & others) !== 0 && !isSticky)) return false;
  return folder === dirname(folder) || isSafe(dirname(folder));
}
