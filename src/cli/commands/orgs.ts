import { PipelineError } from "../../contract/errors.ts";
import type { NewLimits, OrgLimits } from "../../service/store/orgs.ts";
import { rowsFor } from "../output/table.ts";
import type { Tool } from "../tool.ts";
import { loadService } from "../tool.ts";
import { openServiceDatabase, type ServiceDatabase } from "./keys.ts";

/** `pipeline orgs list`: lists the orgs of a service's database with their limits, whether or not it is running. */
export async function listOrgs(tool: Tool, where: ServiceDatabase): Promise<number> {
  const store = await loadService(() => import("../../service/store/orgs.ts"));
  const db = await openServiceDatabase(where);
  try {
    const orgs = await store.listOrgs(db);
    const rows = orgs.map((org) => [org.orgId, org.orgName, `tier ${org.tier}`, limitsText(org)]);
    tool.output.result("orgs list", { orgs }, rowsFor(tool.output.out, rows));
    if (orgs.length === 0 && !tool.output.json) tool.output.note("No orgs yet.");
    return 0;
  } finally {
    await db.destroy();
  }
}

/**
 * `pipeline orgs set`: sets an org's tier and limits in a service's database. A running service goes by them at once, and looks
 * at the starts that wait within a second.
 */
export async function setOrg(
  tool: Tool,
  options: { readonly orgName: string | undefined; readonly limits: NewLimits } & ServiceDatabase,
): Promise<number> {
  const { orgName, limits } = options;
  if (Object.keys(limits).length === 0) {
    throw new PipelineError("usage", "Nothing is set.", {
      next: "Say what: --parallel-runs, --runs-per-day or --tier.",
    });
  }
  const store = await loadService(() => import("../../service/store/orgs.ts"));
  const db = await openServiceDatabase(options);
  try {
    const org = await db.transaction().execute(async (tx) => {
      const changed = await store.setOrgLimits(tx, orgName, limits);
      if ("database" in options) {
        const { notify, payloadOf } = await import("../../team/store/notify.ts");
        await notify(tx, [payloadOf(changed.orgId, { kind: "org" })]);
      }
      return changed;
    });
    tool.output.result("orgs set", org, `${org.orgName}, tier ${org.tier}: ${limitsText(org)}.`);
    return 0;
  } finally {
    await db.destroy();
  }
}

function limitsText({ limits: { parallelRuns, runsPerDay } }: OrgLimits): string {
  const runs = (count: number) => `${count} ${count === 1 ? "run" : "runs"}`;
  return `${runs(parallelRuns)} at a time, ${runs(runsPerDay)} a day`;
}
