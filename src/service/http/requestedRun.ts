import { PipelineError } from "../../contract/errors.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import type { Database } from "../store/tables.ts";

/** Said also of another org's run, which must not be told apart. */
export function noSuchRun(runId: string): never {
  throw new PipelineError("not-found", `There is no run \`${runId.slice(0, 100)}\` in this org.`, {
    next: "`pipeline runs list` shows the org's runs.",
  });
}

/** @throws PipelineError `not-found` saying what happened when the run's log and artifacts are no longer kept. */
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
