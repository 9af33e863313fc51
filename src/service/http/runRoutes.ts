import * as z from "zod/mini";
import { waitSeconds } from "../../contract/limits.ts";
import { idempotencyKeySchema, runQuerySchema } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import { listRuns, readRun } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";
import { noSuchRun } from "./requestedRun.ts";
import { requestQuery } from "./requestInput.ts";
import { startRuns } from "./startRoute.ts";

/** Starting, listing, reading and cancelling runs. */
export function runRoutes(endpoints: Endpoints, deps: AppDeps): void {
  const { db, runs, sweep } = deps;
  const parts = { id: "The run's id." };

  endpoints.add(
    {
      method: "post",
      path: "/api/runs",
      group: "runs",
      summary: "Starts a run of a pipeline",
      description:
        "Refused with `too-many-runs` when another run holds the org's place (scope `org`) or the day's runs are used (scope `free-day`, which is told first). A refused start makes no run and uses none of the day's. Closing the connection of a held request gives up the turn.",
      access: "members",
      headers: [
        {
          name: "Prefer",
          description: `\`wait=<seconds>\` (RFC 7240) holds the request in line for a place, for at most ${waitSeconds} s; first come, first served. Without it the answer comes at once.`,
          schema: z.string(),
        },
        {
          name: "Idempotency-Key",
          description: "Names the wish. The same key again brings the run that it has started, and no other.",
          schema: idempotencyKeySchema,
        },
      ],
      body: "StartRequest",
      reply: {
        status: 201,
        description: "The run, or the one that this Idempotency-Key had started before.",
        json: "Run",
        headers: ["Location", "RateLimit", "RateLimit-Policy"],
      },
      errors: ["not-found", "conflict", "too-many-runs"],
    },
    startRuns(deps),
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs",
      group: "runs",
      summary: "The org's runs, newest first",
      access: "every role",
      query: runQuerySchema,
      reply: {
        description: "A page of runs, without their steps; `next` is the `after` of the next page.",
        json: "RunList",
      },
    },
    async (context) => {
      const { orgId, keyId } = context.get("caller");
      const { actor, limit = 20, status, ...query } = requestQuery(context, runQuerySchema, ["limit"]);
      // What is in work may be told ahead of its row, by which the others are found.
      const isOfWork = status === "running" || status === "cancelling";
      const page = await listRuns(db, orgId, {
        ...query,
        status: isOfWork ? "in-work" : status,
        actor: actor === "me" ? keyId : actor,
        limit,
      });
      const told = page.runs.map((run) => runs.upToDate(run));
      return reply({ ...page, runs: isOfWork ? told.filter((run) => run.status === status) : told });
    },
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}",
      group: "runs",
      summary: "A run with its steps",
      description: `The statuses are ${runStatuses.join(", ")}; a client shows any other as it is. The first two are in work: they hold the org's place.`,
      access: "every role",
      parts,
      reply: { description: "The run.", json: "Run" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) =>
      reply(runs.upToDate((await readRun(db, context.get("caller"), runId)) ?? noSuchRun(runId))),
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/runs/{id}/cancel",
      group: "runs",
      summary: "Cancels a run, whoever of the org has started it",
      description:
        "Takes no body. Answers at once; the place is given up when the run's processes are gone. Cancelling again, or after the end, is no error.",
      access: "members",
      parts,
      reply: { description: "The run's status now.", json: "CancelReply" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) => {
      const caller = context.get("caller");
      const before = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
      if (!isActive(before)) return reply({ runId, status: before.status });
      await runs.cancel(caller.orgId, runId, caller.keyId);
      // One that nobody holds has nobody who ends it, unless it is looked for.
      if (!runs.ids().has(runId)) sweep();
      const after = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
      return reply({ runId, status: isActive(after) ? "cancelling" : after.status });
    },
  );
}
