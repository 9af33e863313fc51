import { listRuns as listNewest, type WantedRuns } from "../../client/follow/listRuns.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { runLines, runTable } from "../runTable.ts";
import type { Tool } from "../tool.ts";

/** Which runs a person asks for. */
export interface AskedRuns extends Omit<WantedRuns, "me"> {
  /** Only runs that the caller's key started. */
  readonly mine?: boolean;
}

/** `pipeline runs list`: the org's runs, newest first. */
export async function listRuns(tool: Tool, asked: AskedRuns): Promise<number> {
  const { output, interrupted } = tool;
  const client = await tool.connect();
  // Whose runs they are is told to people only.
  const isForPeople = output.out.isTerminal && !output.json;
  const wanted = await withMe(client, asked, interrupted);
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
  if (runs.length === 0 && lookedThrough === undefined && !output.json) output.note(noneText(asked));
  return 0;
}

/** The same with the id of the caller's key, where only its runs are asked for. */
export async function withMe(
  client: ServiceClient,
  { mine = false, ...asked }: AskedRuns,
  signal: AbortSignal,
): Promise<WantedRuns> {
  return mine ? { ...asked, me: (await client.org(signal)).actor } : asked;
}

function noneText({ statuses, pipeline, project, mine = false }: AskedRuns): string {
  if (statuses.length === 1 && statuses[0] === "in-work" && pipeline === undefined && !mine) {
    return "No run is in work.";
  }
  const isFiltered = statuses.length > 0 || pipeline !== undefined || project !== undefined || mine;
  return isFiltered ? "No run is like that." : "No runs yet.";
}
