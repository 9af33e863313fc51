import { configFolder } from "./credentials/configFolder.ts";
import { isLoggedOut } from "./credentials/currentLogin.ts";
import { LoginFiles } from "./credentials/loginFiles.ts";
import type { Environment } from "./starterEnvironment.ts";

/**
 * Whether another service than this machine's own is in use (contract: "The command-line tool"), without asking it.
 * Also true for half a name, which `serviceFor` tells about. @throws PipelineError as `LoginFiles`.
 */
export async function isServiceNamed(env: Environment): Promise<boolean> {
  if ((env["PIPELINE_BASE_URL"] ?? "") !== "" || (env["PIPELINE_API_KEY"] ?? "") !== "") return true;
  const config = configFolder(env);
  return !isLoggedOut(config) && (await new LoginFiles(config).current()) !== undefined;
}
