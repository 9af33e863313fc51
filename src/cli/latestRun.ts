import type { ServiceClient } from "../client/http/serviceClient.ts";
import { listRuns } from "../client/listRuns.ts";
import { PipelineError } from "../contract/errors.ts";

/**
 * The id that a person named, else that of the newest run that the caller's key has started.
 * @throws PipelineError `not-found` when there is none; as `ServiceClient.org` and `listRuns`.
 */
export async function namedOrLatest(
  client: ServiceClient,
  runId: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (runId !== undefined) return runId;
  const { actor: me } = await client.org(signal);
  const { runs } = await listRuns(client, { statuses: [], me, limit: 1 }, signal);
  const [latest] = runs;
  if (latest !== undefined) return latest.runId;
  throw new PipelineError("not-found", "Your key has started no run yet.", {
    next: "`pipeline runs list` shows the org's runs.",
  });
}
