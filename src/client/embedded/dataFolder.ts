import { resolve } from "node:path";
import envPaths from "env-paths";

/**
 * The embedded service's folder, absolute: `PIPELINE_DATA_DIR` when set, else the user's own data folder (contract: the
 * tool). A relative one is of the folder that the caller works in: the service, whose working folder is another, is
 * told the same.
 */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  const named = env["PIPELINE_DATA_DIR"] ?? "";
  return named === "" ? envPaths("pipeline-runs", { suffix: "" }).data : resolve(named);
}
