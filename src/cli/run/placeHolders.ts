import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { isInWork, type Run } from "../../contract/run.ts";

/** As many as anyone reads. */
const mostNamed = 3;

/**
 * Who holds the org's places: `nightly (run_…) holds it for 80 s at most`, of several `held by … and …`.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970; without it nothing is said of the time left.
 * @returns undefined where the service doesn't tell, for whatever reason: a wait needs no more than patience.
 */
export async function placeHolders(
  client: ServiceClient,
  servedAt: number | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const query = { inWork: true, limit: mostNamed };
    // A service may not know the query.
    const runs = (await client.runs(query, signal)).runs.filter(isInWork);
    const [first, ...others] = runs;
    if (first === undefined) return undefined;
    if (others.length === 0) return `${nameOf(first)} holds it${timeLeft(first, servedAt, "")}`;
    return `held by ${runs.map((run) => `${nameOf(run)}${timeLeft(run, servedAt, ",")}`).join(" and ")}`;
  } catch {
    return undefined;
  }
}

function nameOf({ pipeline, runId }: Run): string {
  return `${pipeline} (${runId})`;
}

/** Counted on the service's clock, so that it is right also where the caller's is hours off. */
function timeLeft(run: Run, servedAt: number | undefined, comma: string): string {
  if (servedAt === undefined || run.status !== "running") return "";
  const ends = Date.parse(run.createdAt) + run.timeLimitSeconds * 1000;
  // The `Date` of a reply is cut to whole seconds, so it may lie before the run's beginning.
  const left = Math.min(run.timeLimitSeconds, Math.ceil((ends - servedAt) / 1000));
  return left > 0 ? `${comma} for ${left} s at most` : "";
}
