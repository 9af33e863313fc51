import { type Selectable, sql } from "kysely";
import { PipelineError } from "../../contract/errors.ts";
import { everyOrgName } from "../../contract/keys.ts";
import { utcDay } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import type { Caller } from "./keys.ts";
import type { Database, Tables, Write } from "./tables.ts";

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
  return { ...asLimits(org), usage: { runsToday: Number(org.runs_today) }, actor: caller.keyId };
}

/** An org and its limits, the same for every caller. */
export type OrgLimits = Pick<Org, "orgId" | "orgName" | "tier" | "limits">;

function asLimits(org: OrgRow): OrgLimits {
  return {
    orgId: org.id,
    orgName: org.name,
    tier: org.tier,
    limits: { parallelRuns: org.parallel_runs, runsPerDay: org.runs_per_day },
  };
}

/** The orgs in the order of their creation: all, or the one of that name. */
export async function listOrgs(db: Database, orgName?: string): Promise<OrgLimits[]> {
  let rows = db
    .selectFrom("orgs")
    .select(["id", "name", "tier", "parallel_runs", "runs_per_day"])
    .where("name", "!=", everyOrgName)
    .orderBy("id");
  if (orgName !== undefined) rows = rows.where("name", "=", orgName);
  return (await rows.execute()).map(asLimits);
}

/**
 * The org of a name, or without one the only org.
 * @throws PipelineError `not-found` without such an org; `usage` when no name is given and there are several.
 */
export async function meantOrg(db: Database, orgName: string | undefined): Promise<OrgLimits> {
  const [org, ...others] = await listOrgs(db, orgName);
  if (org === undefined) {
    throw new PipelineError(
      "not-found",
      orgName === undefined ? "There is no org yet." : "No org has that name.",
      {
        next: "`pipeline orgs list` shows the orgs; `pipeline keys create --org` makes one.",
      },
    );
  }
  if (others.length > 0) {
    throw new PipelineError("usage", "There are several orgs.", {
      next: "Name one with --org; `pipeline orgs list` shows them.",
    });
  }
  return org;
}

/** The limits to set; those left out stay as they are. */
export type NewLimits = Partial<Pick<Org, "tier"> & Org["limits"]>;

/**
 * Sets an org's tier and limits. They apply from the next decision on a start.
 * @param orgName may be left out where there is only one org.
 * @returns the org as it is now.
 * @throws as {@link meantOrg}.
 */
export async function setOrgLimits(
  tx: Write,
  orgName: string | undefined,
  { tier, parallelRuns, runsPerDay }: NewLimits,
): Promise<OrgLimits> {
  const { orgId, orgName: name } = await meantOrg(tx, orgName);
  // Kysely leaves out what is undefined.
  const limits = { tier, parallel_runs: parallelRuns, runs_per_day: runsPerDay };
  await tx.updateTable("orgs").set(limits).where("id", "=", orgId).execute();
  return meantOrg(tx, name);
}
