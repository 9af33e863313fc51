import { listRuns as listNewest, type WantedRuns } from "../../client/listRuns.ts";
import { runLines, runTable } from "../runTable.ts";
import type { Tool } from "../tool.ts";

/** `pipeline runs list`: the org's runs, newest first. */
export async function listRuns(tool: Tool, wanted: WantedRuns): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  // Whose runs they are is told to people only.
  const isForPeople = output.out.isTerminal && !output.json;
  const [{ runs, next, lookedThrough }, org] = await Promise.all([
    listNewest(client, wanted, interrupted),
    isForPeople ? client.org(interrupted) : undefined,
  ]);
  const text = isForPeople
    ? runTable(runs, output.out, { me: org?.actor, now: client.clock.now() })
    : runLines(runs);
  if (lookedThrough !== undefined) {
    output.warn(
      `the service doesn't choose runs by itself, and only ${lookedThrough} were looked through: older ones may be like that too.`,
    );
  }
  output.result("runs list", { runs, ...(next === undefined ? {} : { next }) }, text);
  if (runs.length === 0 && lookedThrough === undefined && !output.json) output.note(noneText(wanted));
  return 0;
}

function noneText({ statuses, pipeline, project, mine }: WantedRuns): string {
  if (statuses.length === 1 && statuses[0] === "in-work" && pipeline === undefined && !mine) {
    return "No run is in work.";
  }
  const isFiltered = statuses.length > 0 || pipeline !== undefined || project !== undefined || mine;
  return isFiltered ? "No run is like that." : "No runs yet.";
}
