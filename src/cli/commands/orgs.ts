import { PipelineError } from "../../contract/errors.ts";
import * as stored from "../../service/store/orgs.ts";
import { counted } from "../../text/counted.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { onDatabase, type StoreFlags } from "./keys.ts";

/** `pipeline orgs list`: lists the orgs of a service's database with their limits, whether or not it is running. */
export async function listOrgs(tool: Tool, flags: StoreFlags): Promise<number> {
  const { output } = tool;
  return onDatabase(tool, flags, async (db) => {
    const orgs = await stored.listOrgs(db);
    const rows = orgs.map((org) => [org.orgId, org.orgName, `tier ${org.tier}`, limitsText(org)]);
    output.result("orgs list", { orgs }, rowsFor(output.out, rows));
    if (orgs.length === 0 && !output.json) output.note("No orgs yet.");
  });
}

interface NewOrgFlags extends StoreFlags, stored.NewLimits {
  /** The org's name; undefined for the only one. */
  readonly org?: string;
}

/**
 * `pipeline orgs set`: sets an org's tier and limits in a service's database. A running service goes by them at once, and looks
 * at the starts that wait within a second.
 */
export async function setOrg(
  tool: Tool,
  { org: orgName, dataDir, database, ...limits }: NewOrgFlags,
): Promise<number> {
  if (Object.keys(limits).length === 0) {
    throw new PipelineError("usage", "Nothing is set.", {
      next: "Say what: --parallel-runs, --runs-per-day or --tier.",
    });
  }
  return onDatabase(tool, { dataDir, database }, async (db) => {
    const org = await db.transaction().execute(async (tx) => {
      const changed = await stored.setOrgLimits(tx, orgName, limits);
      if (database !== undefined) {
        const { notify, payloadOf } = await import("../../team/store/notify.ts");
        await notify(tx, [payloadOf(changed.orgId, { kind: "org" })]);
      }
      return changed;
    });
    tool.output.result("orgs set", org, `${org.orgName}, tier ${org.tier}: ${limitsText(org)}.`);
  });
}

function limitsText({ limits: { parallelRuns, runsPerDay } }: stored.OrgLimits): string {
  return `${counted(parallelRuns, "run")} at a time, ${counted(runsPerDay, "run")} a day`;
}
