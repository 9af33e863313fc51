import { PipelineError } from "../../contract/errors.ts";
import type { Connection } from "../../machine/connectionFile.ts";
import { readConnection } from "../../machine/connectionFile.ts";
import { isOlder, ownVersion } from "../../machine/versions.ts";
import { type Environment, withoutStarter } from "../../project/environment.ts";
import { ServiceClient, type ServiceClientOptions } from "../service/client.ts";
import { loopbackFetch } from "../service/loopbackFetch.ts";
import { OutOfReach } from "../service/reachFaults.ts";

/** The embedded service, once it has answered. */
export interface Embedded {
  readonly connection: Connection;
  readonly client: ServiceClient;
}

export interface FindDeps extends Pick<ServiceClientOptions, "fetch" | "clock" | "random"> {
  /** The data folder (see `dataFolder`). */
  readonly folder: string;
  /** The face's environment, sent with each start of a run; if omitted, the service's own applies. */
  readonly env?: Environment;
}

/** A live service replies at once; another program on its port may never. */
const answersWithinSeconds = 2;

/**
 * Finds the embedded service by its connection file. The token is sent only after `GET /healthz`, sent without it, has named the
 * same instance: after a crash another program may have the port.
 *
 * @returns undefined if there is no file or that instance doesn't answer.
 * @throws only the signal's reason.
 */
export async function findEmbedded(deps: FindDeps, signal: AbortSignal): Promise<Embedded | undefined> {
  const { folder, env, fetch = loopbackFetch(), ...others } = deps;
  const connection = await readConnection(folder);
  signal.throwIfAborted();
  if (connection === undefined) return undefined;
  try {
    const baseUrl = new URL(`${connection.url}/`);
    const client = new ServiceClient({
      ...others,
      fetch,
      baseUrl,
      apiKey: connection.token,
      keyOfNow: async (until) => {
        const now = await findEmbedded({ ...deps, fetch }, until);
        const { url, version } = now?.connection ?? {};
        // A service of another version may not accept this environment.
        if (now !== undefined && url === connection.url && version === connection.version)
          return now.connection.token;
        throw new OutOfReach("dropped", "This machine's service is no longer where it was.", {});
      },
      // An older service refuses unknown fields.
      environment: env && !isOlder(connection.version, ownVersion) ? withoutStarter(env) : undefined,
    });
    const health = await client.health(signal, answersWithinSeconds);
    return health.instance === connection.instance ? { connection, client } : undefined;
  } catch (error) {
    if (error instanceof PipelineError && !signal.aborted) return undefined;
    throw error;
  }
}
