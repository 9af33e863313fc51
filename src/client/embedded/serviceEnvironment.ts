import { type Environment, withoutStarter } from "../starterEnvironment.ts";

/**
 * The environment of an embedded service: the starter's, which its runs' steps then have too, without what is the
 * starter's own.
 */
export function serviceEnvironment(env: Environment, folder: string): Record<string, string> {
  return { ...withoutStarter(env), ELECTRON_RUN_AS_NODE: "1", PIPELINE_DATA_DIR: folder };
}
