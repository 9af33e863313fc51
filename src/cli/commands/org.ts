import { quotaText } from "../../contract/limits.ts";
import type { Tool } from "../tool.ts";

/** `pipeline org`: the org's limits and today's use. */
export async function showOrg(tool: Tool): Promise<number> {
  const client = await tool.connect();
  const org = await client.org(tool.interrupted);
  const lines = [
    `${org.orgName} (${org.orgId}), tier ${org.tier}, ${org.limits.parallelRuns} at the same time`,
    `${quotaText(org)}. The count starts again at 00:00 UTC.`,
    `Your key: ${org.actor}`,
  ];
  tool.output.result("org", { ...org }, lines.join("\n"));
  return 0;
}
