import type { ServiceClient } from "../client/http/serviceClient.ts";
import { PipelineError } from "../contract/errors.ts";

/**
 * The id that a person named, else that of the newest run that the caller's key has started.
 * @throws PipelineError `not-found` when there is none; as `ServiceClient.runs`.
 */
export async function namedOrLatest(
  client: ServiceClient,
  runId: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (runId !== undefined) return runId;
  const { runs } = await client.runs({ mine: true, limit: 1 }, signal);
  const [latest] = runs;
  if (latest !== undefined) return latest.runId;
  throw new PipelineError("not-found", "Your key has started no run yet.", {
    next: "`pipeline runs list` shows the org's runs.",
  });
}
