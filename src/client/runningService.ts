import { dataFolder } from "./embedded/dataFolder.ts";
import { findEmbedded } from "./embedded/findEmbedded.ts";
import { parseBaseUrl } from "./http/baseUrl.ts";
import { ServiceClient } from "./http/serviceClient.ts";

/**
 * The service that a terminal with this environment uses, when it can be asked as things are: this machine's own isn't
 * started. @throws PipelineError as `parseBaseUrl`; the signal's reason.
 */
export async function runningService(
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<ServiceClient | undefined> {
  const baseUrl = env["PIPELINE_BASE_URL"] ?? "";
  const apiKey = env["PIPELINE_API_KEY"] ?? "";
  if (baseUrl !== "" && apiKey !== "") return new ServiceClient({ baseUrl: parseBaseUrl(baseUrl), apiKey });
  if (baseUrl !== "" || apiKey !== "") return undefined;
  return (await findEmbedded({ folder: dataFolder(env) }, signal))?.client;
}
