import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { placeHolders, secondsToLimit } from "../../client/placeHolders.ts";
import type { Run } from "../../contract/run.ts";

/**
 * Who holds the org's places: `nightly (run_…) holds it for 80 s at most`, of several `held by … and …`.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970; without it nothing is said of the time left.
 * @returns undefined where the service doesn't tell.
 */
export async function placeHoldersLine(
  client: ServiceClient,
  servedAt: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runs = (await placeHolders(client, signal)) ?? [];
  const [first, ...others] = runs;
  if (first === undefined) return undefined;
  if (others.length === 0) return `${holder(first)} holds it${timeLeft(first, servedAt, "")}`;
  return `held by ${runs.map((run) => `${holder(run)}${timeLeft(run, servedAt, ",")}`).join(" and ")}`;
}

function holder({ pipeline, runId }: Run): string {
  return pipeline === undefined ? runId : `${pipeline} (${runId})`;
}

function timeLeft(run: Run, servedAt: number | undefined, comma: string): string {
  const left = secondsToLimit(run, servedAt);
  return left === undefined ? "" : `${comma} for ${left} s at most`;
}
