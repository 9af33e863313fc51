import envPaths from "env-paths";

/** The embedded service's folder: `PIPELINE_DATA_DIR` when set, else the user's own data folder (contract: the tool). */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env["PIPELINE_DATA_DIR"] || envPaths("pipeline-runs", { suffix: "" }).data;
}
