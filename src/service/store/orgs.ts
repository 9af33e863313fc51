import { utcDay } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";
import type { Caller } from "./keys.ts";
import type { Database } from "./tables.ts";

/** An org, and how many of its runs count in a day. */
export function orgOfDay(db: Database, orgId: string, day: string) {
  return db
    .selectFrom("orgs")
    .select(["id", "name", "tier", "parallel_runs", "runs_per_day"])
    .select(({ selectFrom }) =>
      selectFrom("runs")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("runs.org_id", "=", "orgs.id")
        .where("runs.day", "=", day)
        .as("runs_today"),
    )
    .where("id", "=", orgId);
}

/** The org as the caller sees it, with the runs counted in the UTC day of `now`. */
export async function readOrg(
  db: Database,
  caller: Pick<Caller, "orgId" | "keyId">,
  now: number,
): Promise<Org> {
  const org = await orgOfDay(db, caller.orgId, utcDay(now)).executeTakeFirst();
  if (org === undefined) throw new Error(`there is no org ${caller.orgId}`);
  return {
    orgId: org.id,
    orgName: org.name,
    tier: org.tier,
    limits: { parallelRuns: org.parallel_runs, runsPerDay: org.runs_per_day },
    usage: { runsToday: Number(org.runs_today) },
    actor: caller.keyId,
  };
}
