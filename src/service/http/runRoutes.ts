import { PipelineError } from "../../contract/errors.ts";
import { type RanPipeline, runQuerySchema, type ServedRun } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import type { Caller } from "../store/keys.ts";
import { readChanges, readPipeline } from "../store/ranPipelines.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import { listRuns, readRun } from "../store/runs.ts";
import type { Database } from "../store/tables.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";
import { requestQuery } from "./requestInput.ts";

const unwritten =
  "The run is being ended, but that can't be written now: should the service die before it is, the run is `lost` later.";

const params = { id: "The run's id." };

/** Listing, reading and cancelling runs. */
export function runRoutes(endpoints: Endpoints, deps: AppDeps): void {
  const { db, runs, recover } = deps;
  endpoints.add(
    {
      method: "get",
      path: "/api/runs",
      summary: "The org's runs, newest first",
      access: "every role",
      query: runQuerySchema,
      reply: {
        description: "A page of runs, without their steps; `next` is the `after` of the next page.",
        json: "RunList",
      },
    },
    async (context, { caller: { orgId, keyId } }) => {
      const {
        actor,
        limit = 20,
        since,
        until,
        ...query
      } = requestQuery(context, runQuerySchema, ["limit"], ["input"]);
      const { runs: found, older: next } = await listRuns(db, orgId, {
        ...query,
        actor: actor === "me" ? keyId : actor,
        since: since === undefined ? undefined : Date.parse(since),
        until: until === undefined ? undefined : Date.parse(until),
        limit,
      });
      return reply({ runs: found, next });
    },
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}",
      summary: "A run with its steps",
      description: `The statuses are ${runStatuses.join(", ")}; a client shows any other as it is. The first two are active: they hold the org's slot.`,
      access: "every role",
      params,
      reply: { description: "The run.", json: "Run" },
      errors: ["not-found"],
    },
    async (_, { caller, params: { id: runId } }) => reply(await requestedRun(db, caller, runId)),
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/runs/{id}/cancel",
      summary: "Cancels a run, whoever of the org has started it",
      description:
        "Takes no body. Answers at once; the slot is released when the run's processes are gone. Cancelling again, or after the end, is no error.",
      access: "members",
      params,
      reply: { description: "The run's status now.", json: "CancelReply" },
      errors: ["not-found"],
    },
    async (_, { caller, params: { id: runId } }) => {
      if (isActive(await requestedRun(db, caller, runId))) {
        await runs.cancel(caller.orgId, runId, caller.keyId);
        recover(runId);
      }
      const after = await requestedRun(db, caller, runId);
      if (!isActive(after)) return reply({ runId, status: after.status });
      // The row still says `running` only if `cancelling` couldn't be written.
      const warning = after.status === "running" ? unwritten : undefined;
      return reply({ runId, status: "cancelling", warning });
    },
  );
  ranPipelineRoutes(endpoints, deps);
}

function ranPipelineRoutes(endpoints: Endpoints, { db }: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/pipeline",
      summary: "A run's pipeline file and the files that it includes, as they ran",
      description: "Secrets of the run are masked. Kept as long as its log, and up to 1 MiB.",
      access: "every role",
      params,
      reply: { description: "The files.", json: "RanPipeline" },
      errors: ["not-found"],
    },
    async (_, { caller, params: { id: runId } }) =>
      reply(await requestedPipeline(db, await requestedRun(db, caller, runId))),
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}/changes",
      summary: "What changed since the last run of the pipeline before that succeeded",
      description:
        "`last-passed` is that run, absent where none is known; `diffs` has the unified difference of each file that differs, absent where the files of either run aren't kept.",
      access: "every role",
      params,
      reply: { description: "The changes.", json: "Changes" },
      errors: ["not-found"],
    },
    async (_, { caller, params: { id: runId } }) =>
      reply(await readChanges(db, caller.orgId, await requestedRun(db, caller, runId))),
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
