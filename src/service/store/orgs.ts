import { utcDay } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";
import type { Caller } from "./keys.ts";
import type { Database } from "./tables.ts";

/** The org as the caller sees it, with the runs counted in the UTC day of `now`. */
export async function readOrg(
  db: Database,
  caller: Pick<Caller, "orgId" | "keyId">,
  now: number,
): Promise<Org> {
  const org = await db
    .selectFrom("orgs")
    .selectAll()
    .where("id", "=", caller.orgId)
    .executeTakeFirstOrThrow();
  return {
    orgId: org.id,
    orgName: org.name,
    tier: org.tier,
    limits: { parallelRuns: org.parallel_runs, runsPerDay: org.runs_per_day },
    usage: { runsToday: await countRuns(db, org.id, { day: utcDay(now) }) },
    actor: caller.keyId,
  };
}

/** How many runs of an org count in a day, or hold a place now. */
export async function countRuns(
  db: Database,
  orgId: string,
  which: { readonly day: string } | "in-work",
): Promise<number> {
  const rows = db
    .selectFrom("runs")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("org_id", "=", orgId);
  const { count } = await (which === "in-work"
    ? rows.where("stopped_at", "is", null)
    : rows.where("day", "=", which.day)
  ).executeTakeFirstOrThrow();
  return Number(count);
}
