import { dayMilliseconds, nextReset } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Org } from "../../contract/org.ts";
import { countDayUse, type DayUse } from "../../text/dayUse.ts";
import type { ServiceClient } from "../service/client.ts";
import { Deadline, DeadlinePassed } from "../service/deadline.ts";
import { listRuns } from "./listRuns.ts";

/** Of more runs a day, who used the newest. */
const mostRuns = 500;
/** Short, since it's a comfort, and other things may wait for it. */
const withinSeconds = 2;

/**
 * Who used the day's runs.
 * @param servedAt the service's clock now, in milliseconds since 1970.
 * @returns undefined on any error: who used them is shown where the service lists runs.
 */
export async function readDayUse(
  client: ServiceClient,
  { usage: { runsToday } }: Pick<Org, "usage">,
  servedAt: number,
  signal: AbortSignal,
): Promise<DayUse | undefined> {
  if (runsToday === 0) return undefined;
  const since = nextReset(servedAt) - dayMilliseconds;
  try {
    using deadline = new Deadline(client.clock, signal);
    deadline.arm(withinSeconds);
    const wanted = { statuses: [], since, limit: Math.min(runsToday, mostRuns) };
    const { runs } = await listRuns(client.withoutRetries(), wanted, deadline.signal);
    return runs.length === 0 ? undefined : countDayUse(runs);
  } catch (error) {
    if (error instanceof PipelineError || error instanceof DeadlinePassed) return undefined;
    throw error;
  }
}
