import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import type { Caller } from "../store/keys.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import { readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";

/** The run that a request names. @throws PipelineError `not-found`, also for another org's run. */
export async function requestedRun(
  db: Database,
  caller: Pick<Caller, "orgId">,
  runId: string,
): Promise<ServedRun> {
  const run = await readRun(db, caller, runId);
  if (run !== undefined) return run;
  throw new PipelineError("not-found", `There is no run \`${runId.slice(0, 100)}\` in this org.`, {
    next: runId.startsWith("run_")
      ? "`pipeline runs list` shows the org's runs."
      : "A run's id begins with `run_`. `pipeline runs list --pipeline <name>` shows the runs of a pipeline.",
  });
}

/** @throws PipelineError `not-found` when the run's log and artifacts have been removed. */
export async function refuseRemoved(db: Database, runId: string): Promise<void> {
  const removedAt = await filesRemovedAt(db, runId);
  if (removedAt === undefined) return;
  const day = new Date(removedAt).toISOString().slice(0, 10);
  throw new PipelineError(
    "not-found",
    `The log and the artifacts of this run were removed on ${day}: they are kept for a limited time.`,
    { next: "Run the pipeline again for new ones." },
  );
}
