import { isServiceNamed } from "./credentials/logins.ts";
import { dataFolder } from "./embedded/dataFolder.ts";
import { findEmbedded } from "./embedded/findEmbedded.ts";
import { environmentFetch } from "./http/environmentFetch.ts";
import type { ServiceClient } from "./http/serviceClient.ts";
import { type ServiceForDeps, serviceFor } from "./serviceFor.ts";

/**
 * The service that a terminal with this environment uses, when it can be asked as things are: this machine's own isn't
 * started. @throws PipelineError as `serviceFor`; the signal's reason.
 */
export async function runningService(
  env: Readonly<Record<string, string | undefined>>,
  deps: ServiceForDeps,
  signal: AbortSignal,
): Promise<ServiceClient | undefined> {
  if (await isServiceNamed(env)) return (await serviceFor(env, deps, signal)).client;
  const fetch = environmentFetch(new URL("http://127.0.0.1/"), env);
  return (await findEmbedded({ folder: dataFolder(env), fetch }, signal))?.client;
}
