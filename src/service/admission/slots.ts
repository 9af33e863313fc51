import { secondsToReset, utcDay } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Refusal } from "../../contract/refusal.ts";
import { orgWithUsage } from "../store/orgs.ts";
import type { Write } from "../store/tables.ts";

/** An org's limits and the counts of its run rows. Stored nowhere; a transaction adds the runs that it makes. */
export interface OrgSlots {
  readonly id: string;
  readonly parallelRuns: number;
  readonly runsPerDay: number;
  active: number;
  runsToday: number;
}

/** Counts an org's slots from its rows, as the transaction sees them. @param now milliseconds since 1970. */
export async function countSlots(tx: Write, orgId: string, now: number): Promise<OrgSlots> {
  const { rows } = await orgWithUsage(orgId, utcDay(now)).execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no org ${orgId}`);
  return {
    id: orgId,
    parallelRuns: row.parallel_runs,
    runsPerDay: row.runs_per_day,
    active: Number(row.active),
    runsToday: Number(row.runs_today),
  };
}

/** Why the org may start no run now; undefined when it may. The day's limit comes first (contract: "Limits"). */
export function refusalOf(
  { active, parallelRuns, runsToday, runsPerDay }: OrgSlots,
  now: number,
): Refusal | undefined {
  if (runsToday >= runsPerDay) return { scope: "free-day", secondsToReset: secondsToReset(now) };
  return active >= parallelRuns ? { scope: "org" } : undefined;
}

/** The day's limits and usage, as a reply carries them. */
export type Quota = Pick<Org, "limits" | "usage">;

export function quotaOf({ parallelRuns, runsPerDay, runsToday }: OrgSlots): Quota {
  return { limits: { parallelRuns, runsPerDay }, usage: { runsToday } };
}
