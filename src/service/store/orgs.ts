import { type Selectable, sql } from "kysely";
import { utcDay } from "../../contract/day.ts";
import type { Org } from "../../contract/org.ts";
import type { Caller } from "./keys.ts";
import type { Database, Tables } from "./tables.ts";

type OrgRow = Pick<Selectable<Tables["orgs"]>, "id" | "name" | "tier" | "parallel_runs" | "runs_per_day">;

/**
 * An org, how many of its runs count in a day, and how many are active. Plain SQL, since every request asks for it:
 * building the query took longer than SQLite needs to run it.
 */
export function orgWithUsage(orgId: string, day: string) {
  return sql<OrgRow & Record<"runs_today" | "active", number>>`
    select id, name, tier, parallel_runs, runs_per_day,
      (select count(*) from runs where org_id = orgs.id and day = ${day}) as runs_today,
      (select count(*) from runs where org_id = orgs.id and stopped_at is null) as active
    from orgs where id = ${orgId}`;
}

/** The org as the caller sees it, with the runs counted in the UTC day of `now`. */
export async function readOrg(
  db: Database,
  caller: Pick<Caller, "orgId" | "keyId">,
  now: number,
): Promise<Org> {
  const { rows } = await orgWithUsage(caller.orgId, utcDay(now)).execute(db);
  const [org] = rows;
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
