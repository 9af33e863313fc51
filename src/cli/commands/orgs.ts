import { PipelineError } from "../../contract/errors.ts";
import type { NewLimits, OrgLimits } from "../../service/store/orgs.ts";
import { counted } from "../../text/counted.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";
import { onDatabase, type ServiceDatabase } from "./keys.ts";

/** `pipeline orgs list`: lists the orgs of a service's database with their limits, whether or not it is running. */
export async function listOrgs({ output }: Tool, store: ServiceDatabase): Promise<number> {
  const stored = await loadService(() => import("../../service/store/orgs.ts"));
  return onDatabase(store, async (db) => {
    const orgs = await stored.listOrgs(db);
    const rows = orgs.map((org) => [org.orgId, org.orgName, `tier ${org.tier}`, limitsText(org)]);
    output.result("orgs list", { orgs }, rowsFor(output.out, rows));
    if (orgs.length === 0 && !output.json) output.note("No orgs yet.");
  });
}

export interface NewOrgOptions extends NewLimits {
  /** The org's name; undefined for the only one. */
  readonly org?: string;
}

/**
 * `pipeline orgs set`: sets an org's tier and limits in a service's database. A running service goes by them at once, and looks
 * at the starts that wait within a second.
 */
export async function setOrg(
  { output }: Tool,
  { org: orgName, ...limits }: NewOrgOptions,
  store: ServiceDatabase,
): Promise<number> {
  if (Object.keys(limits).length === 0) {
    throw new PipelineError("usage", "Nothing is set.", {
      next: "Say what: --parallel-runs, --runs-per-day or --tier.",
    });
  }
  const stored = await loadService(() => import("../../service/store/orgs.ts"));
  return onDatabase(store, async (db) => {
    const org = await db.transaction().execute(async (tx) => {
      const changed = await stored.setOrgLimits(tx, orgName, limits);
      if ("database" in store) {
        const { notify, payloadOf } = await import("../../team/store/notify.ts");
        await notify(tx, [payloadOf(changed.orgId, { kind: "org" })]);
      }
      return changed;
    });
    output.result("orgs set", org, `${org.orgName}, tier ${org.tier}: ${limitsText(org)}.`);
  });
}

function limitsText({ limits: { parallelRuns, runsPerDay } }: OrgLimits): string {
  return `${counted(parallelRuns, "run")} at a time, ${counted(runsPerDay, "run")} a day`;
}
