import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import { ServiceClient } from "../service/client.ts";
import type { Fetch } from "../service/request.ts";
import type { Connection } from "./connectionFile.ts";
import { readConnection } from "./connectionFile.ts";

/** The embedded service of this machine, found and answering. */
export interface Embedded {
  readonly connection: Connection;
  readonly client: ServiceClient;
}

export interface FindDeps {
  /** The data folder (see `dataFolder`). */
  readonly folder: string;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** A service on this machine that lives says so at once; a stranger on its port may say nothing for ever. */
const answersWithinSeconds = 2;

/**
 * Finds the embedded service by its connection file. The token is sent to nobody before `GET /healthz` there, asked
 * without it, has named the same instance: after a crash the port may be another program's.
 *
 * @returns undefined when there is no file, or nobody answers it as that instance.
 * @throws only the signal's reason.
 */
export async function findEmbedded(deps: FindDeps, signal: AbortSignal): Promise<Embedded | undefined> {
  const { folder, ...others } = deps;
  const connection = await readConnection(folder);
  signal.throwIfAborted();
  if (connection === undefined) return undefined;
  try {
    const baseUrl = new URL(`${connection.url}/`);
    const client = new ServiceClient({ ...others, baseUrl, apiKey: connection.token });
    const health = await client.health(signal, answersWithinSeconds);
    return health.instance === connection.instance ? { connection, client } : undefined;
  } catch (error) {
    if (error instanceof PipelineError && !signal.aborted) return undefined;
    throw error;
  }
}
