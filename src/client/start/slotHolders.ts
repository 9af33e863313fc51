import type { Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { ServiceClient } from "../service/client.ts";

const mostNamed = 3;

/**
 * The runs that hold the org's slots, newest first.
 * @param limit how many at most.
 * @returns undefined if the service can't list them; the wait goes on without.
 */
export async function slotHolders(
  client: ServiceClient,
  signal: AbortSignal,
  limit = mostNamed,
): Promise<readonly Run[] | undefined> {
  try {
    // A service may ignore the filter.
    return (await client.runs({ active: true, limit }, signal)).runs.filter(isActive);
  } catch {
    return undefined;
  }
}

/** Whether a run holds the org's only slot. @returns false if the service doesn't say. */
export async function holdsOnlySlot(
  client: ServiceClient,
  runId: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const once = client.withoutRetries();
    const [run, { limits }] = await Promise.all([once.run(runId, signal), once.org(signal)]);
    return isActive(run) && limits.parallelRuns === 1;
  } catch {
    return false;
  }
}

/**
 * How many seconds a run may still hold its slot, by its time limit and the service's clock.
 *
 * @param servedAt the service's clock now, in milliseconds since 1970.
 * @returns undefined if that is unknown or over, and for a run that is being cancelled.
 */
export function secondsToLimit(run: Run, servedAt: number | undefined): number | undefined {
  const { createdAt, timeLimitSeconds } = run;
  if (servedAt === undefined || createdAt === undefined || timeLimitSeconds === undefined) return undefined;
  if (run.status !== "running") return undefined;
  const ends = Date.parse(createdAt) + timeLimitSeconds * 1000;
  // `Date` has whole seconds, so it may be earlier than `createdAt`.
  const left = Math.min(timeLimitSeconds, Math.ceil((ends - servedAt) / 1000));
  return left > 0 ? left : undefined;
}
