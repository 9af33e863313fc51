import { type Selectable, sql } from "kysely";
import type { Org } from "../../contract/org.ts";
import { utcDay } from "../../contract/time.ts";
import type { Caller } from "./keys.ts";
import type { Database, Tables } from "./tables.ts";

/**
 * An org, and how many of its runs count in a day. As text, since every request asks it: building the query took longer than
 * SQLite needs for it.
 */
export function orgOfDay(orgId: string, day: string) {
  return sql<Selectable<Tables["orgs"]> & { readonly runs_today: number }>`
    select *, (select count(*) from runs where org_id = orgs.id and day = ${day}) as runs_today
    from orgs where id = ${orgId}`;
}

/** The org as the caller sees it, with the runs counted in the UTC day of `now`. */
export async function readOrg(
  db: Database,
  caller: Pick<Caller, "orgId" | "keyId">,
  now: number,
): Promise<Org> {
  const { rows } = await orgOfDay(caller.orgId, utcDay(now)).execute(db);
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
