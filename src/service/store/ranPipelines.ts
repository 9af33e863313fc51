import type { Changes, Commit, RanPipeline } from "../../contract/changes.ts";
import { inputsAgain } from "../../contract/inputs.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { RunValues } from "../../runner/launch/messages.ts";
import { touchRun } from "./runChanges.ts";
import { setInputs, setOutputs } from "./runInputs.ts";
import { listRuns } from "./runs.ts";
import type { Database, Write } from "./tables.ts";

/** Keeps a run's pipeline file, masked, and the commit that it is at. */
async function setPipeline(
  tx: Write,
  runId: string,
  { path, texts, commit }: RanPipeline & { readonly commit?: Commit | undefined },
): Promise<void> {
  const source = Object.keys(texts).length === 0 ? null : JSON.stringify({ path, texts });
  await tx
    .updateTable("runs")
    .set({ source, ...(commit && { git_commit: JSON.stringify(commit) }) })
    .where("id", "=", runId)
    .execute();
  await touchRun(tx, runId);
}

/** A run's pipeline file; undefined where it isn't kept. @param runId of the caller's org. */
export async function readPipeline(db: Database, runId: string): Promise<RanPipeline | undefined> {
  const row = await db.selectFrom("runs").select("source").where("id", "=", runId).executeTakeFirst();
  return row?.source == null ? undefined : JSON.parse(row.source);
}

/** Whether a run's pipeline file is kept, without reading it: it may have 1 MiB. */
export async function keepsPipeline(db: Database, runId: string): Promise<boolean> {
  const kept = db.selectFrom("runs").select("id").where("id", "=", runId).where("source", "is not", null);
  return (await kept.executeTakeFirst()) !== undefined;
}

/** What changed since the last run of the same pipeline before this one that succeeded. */
export async function readChanges(
  db: Database,
  orgId: string,
  { runId, pipeline, project }: ServedRun,
): Promise<Changes> {
  const wanted = { pipeline, project, status: "succeeded", after: runId, limit: 1 };
  const [passed] = (await listRuns(db, orgId, wanted)).runs;
  if (passed === undefined) return {};
  const { createdAt, commit } = passed;
  const inputs = inputsAgain(passed);
  const lastPassed = { runId: passed.runId, createdAt, ...(commit && { commit }), inputs };
  const [before, after] = await Promise.all([readPipeline(db, passed.runId), readPipeline(db, runId)]);
  if (before === undefined || after === undefined) return { lastPassed };
  // The library is only needed here.
  const { fileChanges } = await import("./fileChanges.ts");
  return { lastPassed, diffs: fileChanges(before.texts, after.texts) };
}

/** Writes what a run says of itself: its pipeline file, its inputs, its outputs. */
export function setValues(tx: Write, runId: string, values: RunValues): Promise<void> {
  switch (values.kind) {
    case "pipeline":
      return setPipeline(tx, runId, values);
    case "inputs":
      return setInputs(tx, runId, values.inputs);
    case "outputs":
      return setOutputs(tx, runId, values.outputs);
    default:
      return values satisfies never;
  }
}
