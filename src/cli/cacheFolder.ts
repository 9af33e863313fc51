import { isAbsolute, join } from "node:path";

/**
 * The user's own folder for what can be made again: `PIPELINE_CACHE_DIR` when set, else the one of the system's customs,
 * as the data folder has it. It is asked for before anything of the tool is loaded, so it loads nothing.
 *
 * @returns undefined where the environment names no absolute one.
 */
export function cacheFolder(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): string | undefined {
  const named = env["PIPELINE_CACHE_DIR"] ?? "";
  if (named !== "") return isAbsolute(named) ? named : undefined;
  const path = below(env, platform);
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function below(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): string | undefined {
  const folder = (name: string, ...rest: string[]) => {
    const parent = env[name] ?? "";
    return parent === "" ? undefined : join(parent, ...rest);
  };
  switch (platform) {
    case "win32":
      return folder("LOCALAPPDATA", "pipeline-runs", "Cache");
    case "darwin":
      return folder("HOME", "Library", "Caches", "pipeline-runs");
    default:
      return folder("XDG_CACHE_HOME", "pipeline-runs") ?? folder("HOME", ".cache", "pipeline-runs");
  }
}
