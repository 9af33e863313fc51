import { isInWork, type Run } from "../../contract/run.ts";
import { duration } from "../duration.ts";
import { table } from "../table.ts";
import type { Tool } from "../tool.ts";

export interface ListOptions {
  readonly limit: number;
  readonly inWork: boolean;
  readonly mine: boolean;
}

/** `pipeline runs list`: the org's runs, newest first. */
export async function listRuns(tool: Tool, options: ListOptions): Promise<number> {
  const client = await tool.connect();
  const { runs, next } = await client.runs(options, tool.interrupted);
  const text = runs.length === 0 ? "" : table(runs.map(row));
  tool.output.result("runs list", { runs, ...(next === undefined ? {} : { next }) }, text);
  if (runs.length === 0 && !tool.output.json)
    tool.output.note(options.inWork ? "No run is in work." : "No runs yet.");
  return 0;
}

function row(run: Run): string[] {
  const began = Date.parse(run.createdAt);
  const ended = run.stoppedAt === undefined ? undefined : Date.parse(run.stoppedAt);
  const took = ended === undefined ? (isInWork(run) ? "in work" : "") : duration(ended - began);
  return [run.runId, run.status, run.pipeline, run.createdAt, took];
}
