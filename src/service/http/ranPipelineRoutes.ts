import type { RanPipeline } from "../../contract/changes.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import { readChanges, readPipeline } from "../store/ranPipelines.ts";
import type { Database } from "../store/tables.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";
import { refuseRemoved, requestedRun } from "./requestedRun.ts";

/** The pipeline files of runs as they ran, and what changed in them. */
export function ranPipelineRoutes(endpoints: Endpoints, { db }: AppDeps): void {
  const parts = { id: "The run's id." };

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/pipeline",
      group: "runs",
      summary: "A run's pipeline file and the files that it includes, as they ran",
      description: "Secrets of the run are masked. Kept as long as its log, and up to 1 MiB.",
      access: "every role",
      parts,
      reply: { description: "The files.", json: "RanPipeline" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) =>
      reply(await requestedPipeline(db, await requestedRun(db, context.get("caller"), runId))),
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/changes",
      group: "runs",
      summary: "What changed since the last run of the pipeline before that succeeded",
      description:
        "`last-passed` is that run, absent where none is known; `diffs` has the unified difference of each file that differs, absent where the files of either run aren't kept.",
      access: "every role",
      parts,
      reply: { description: "The changes.", json: "Changes" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) => {
      const caller = context.get("caller");
      return reply(await readChanges(db, caller.orgId, await requestedRun(db, caller, runId)));
    },
  );
}

/** A run's pipeline file. @throws PipelineError `not-found` when it isn't kept. */
export async function requestedPipeline(db: Database, { runId }: ServedRun): Promise<RanPipeline> {
  const pipeline = await readPipeline(db, runId);
  if (pipeline !== undefined) return pipeline;
  await refuseRemoved(db, runId);
  throw new PipelineError("not-found", "The pipeline file of this run isn't kept.", {
    next: "It is kept from the run's first step on, up to 1 MiB, by Pipeline Runs 0.4 and later.",
  });
}
