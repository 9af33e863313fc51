import type { Updateable } from "kysely";
import { inputsForRerun } from "../../contract/pipelines.ts";
import type { Changes, RanPipeline, ServedRun } from "../../contract/run.ts";
import type { RunValues } from "../../runner/launch/messages.ts";
import { runRow, setRun, touchRun } from "./runChanges.ts";
import { withFound } from "./runInputs.ts";
import { listRuns } from "./runs.ts";
import type { Database, Tables, Write } from "./tables.ts";

/** A run's pipeline file; undefined where it isn't kept. @param runId of the caller's org. */
export async function readPipeline(db: Database, runId: string): Promise<RanPipeline | undefined> {
  const row = await runRow(db, runId).select("source").executeTakeFirst();
  return row?.source == null ? undefined : JSON.parse(row.source);
}

/** Whether a run's pipeline file is kept, without reading it: it may be 1 MiB long. */
export async function keepsPipeline(db: Database, runId: string): Promise<boolean> {
  const kept = runRow(db, runId).select("id").where("source", "is not", null);
  return (await kept.executeTakeFirst()) !== undefined;
}

/** What changed since the last successful run of the same pipeline before this one. */
export async function readChanges(
  db: Database,
  orgId: string,
  { runId, pipeline, project }: ServedRun,
): Promise<Changes> {
  const wanted = { pipeline, project, status: "succeeded", after: runId, limit: 1 };
  const [passed] = (await listRuns(db, orgId, wanted)).runs;
  if (passed === undefined) return {};
  const { createdAt, commit } = passed;
  const inputs = inputsForRerun(passed);
  const lastPassed = { runId: passed.runId, createdAt, ...(commit && { commit }), inputs };
  const [before, after] = await Promise.all([readPipeline(db, passed.runId), readPipeline(db, runId)]);
  if (before === undefined || after === undefined) return { lastPassed };
  // The library is only needed here.
  const { fileChanges } = await import("./fileChanges.ts");
  return { lastPassed, diffs: fileChanges(before.texts, after.texts) };
}

/** Writes what a run reports of itself, masked: its pipeline file and commit, its inputs, its outputs. */
export async function setValues(tx: Write, runId: string, values: RunValues): Promise<void> {
  await setRun(tx, runId, await columnsOf(tx, runId, values));
  await touchRun(tx, runId);
}

async function columnsOf(tx: Write, runId: string, values: RunValues): Promise<Updateable<Tables["runs"]>> {
  switch (values.kind) {
    case "pipeline": {
      const { path, texts, commit } = values;
      const source = Object.keys(texts).length === 0 ? null : JSON.stringify({ path, texts });
      return { source, ...(commit && { git_commit: JSON.stringify(commit) }) };
    }
    case "inputs": {
      const row = await runRow(tx, runId).select("inputs").executeTakeFirst();
      return { inputs: withFound(row?.inputs ?? null, values.inputs) };
    }
    case "outputs":
      return { outputs: JSON.stringify(values.outputs) };
    default:
      return values satisfies never;
  }
}
