import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { ServiceClient } from "../service/client.ts";

/** As many as anyone reads. */
const mostNamed = 3;

/**
 * The runs that hold the org's places, newest first; three at most.
 * @returns undefined where the service doesn't tell, for whatever reason: a wait needs no more than patience.
 */
export async function slotHolders(
  client: ServiceClient,
  signal: AbortSignal,
): Promise<readonly Run[] | undefined> {
  try {
    // A service may not know the query.
    return (await client.runs({ active: true, limit: mostNamed }, signal)).runs.filter(isActive);
  } catch {
    return undefined;
  }
}

/**
 * For how many seconds a run may still hold its place: at its time limit it stops. Counted on the service's clock, so
 * that it is right also where the caller's is hours off.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970.
 * @returns undefined where that isn't known, or is over; of a run that is being cancelled, which may take its time.
 */
export function secondsToLimit(run: Run, servedAt: number | undefined): number | undefined {
  const { createdAt, timeLimitSeconds } = run;
  if (servedAt === undefined || createdAt === undefined || timeLimitSeconds === undefined) return undefined;
  if (run.status !== "running") return undefined;
  const ends = Date.parse(createdAt) + timeLimitSeconds * 1000;
  // The `Date` of a reply is cut to whole seconds, so it may lie before the run's beginning.
  const left = Math.min(timeLimitSeconds, Math.ceil((ends - servedAt) / 1000));
  return left > 0 ? left : undefined;
}
