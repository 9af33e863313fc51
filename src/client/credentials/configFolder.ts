import { resolve } from "node:path";
import envPaths from "env-paths";
import type { Environment } from "../starterEnvironment.ts";

/** Where the tool keeps what a person has set, absolute: `PIPELINE_CONFIG_DIR` when set, else the system's usual folder. */
export function configFolder(env: Environment): string {
  const named = env["PIPELINE_CONFIG_DIR"] ?? "";
  return named === "" ? envPaths("pipeline-runs", { suffix: "" }).config : resolve(named);
}
