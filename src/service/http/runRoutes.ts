import { runQuerySchema } from "../../contract/run.ts";
import { isActive, runStatuses } from "../../contract/runStatus.ts";
import { listRuns } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import type { Endpoints } from "./endpoints.ts";
import { reply } from "./reply.ts";
import { requestedRun } from "./requestedRun.ts";
import { requestQuery } from "./requestInput.ts";

const unwritten =
  "The run is being ended, but that can't be written now: should the service die before it is, the run is `lost` later.";

/** Listing, reading and cancelling runs. */
export function runRoutes(endpoints: Endpoints, { db, runs, recover }: AppDeps): void {
  const parts = { id: "The run's id." };

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
      const {
        actor,
        limit = 20,
        status,
        since,
        until,
        ...query
      } = requestQuery(context, runQuerySchema, ["limit"], ["input"]);
      // `upToDate` may show another status than the row has, so all active runs are read.
      const wantsActive = status === "running" || status === "cancelling";
      const { runs: found, older: next } = await listRuns(db, orgId, {
        ...query,
        status: wantsActive ? "in-work" : status,
        actor: actor === "me" ? keyId : actor,
        since: since === undefined ? undefined : Date.parse(since),
        until: until === undefined ? undefined : Date.parse(until),
        limit,
      });
      const shown = found.map((run) => runs.upToDate(run));
      return reply({ runs: wantsActive ? shown.filter((run) => run.status === status) : shown, next });
    },
  );

  endpoints.add(
    {
      method: "get",
      path: "/api/runs/{id}",
      group: "runs",
      summary: "A run with its steps",
      description: `The statuses are ${runStatuses.join(", ")}; a client shows any other as it is. The first two are active: they hold the org's slot.`,
      access: "every role",
      parts,
      reply: { description: "The run.", json: "Run" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) =>
      reply(runs.upToDate(await requestedRun(db, context.get("caller"), runId))),
  );

  endpoints.add(
    {
      method: "post",
      path: "/api/runs/{id}/cancel",
      group: "runs",
      summary: "Cancels a run, whoever of the org has started it",
      description:
        "Takes no body. Answers at once; the slot is released when the run's processes are gone. Cancelling again, or after the end, is no error.",
      access: "members",
      parts,
      reply: { description: "The run's status now.", json: "CancelReply" },
      errors: ["not-found"],
    },
    async (context, { parts: { id: runId } }) => {
      const caller = context.get("caller");
      const before = await requestedRun(db, caller, runId);
      if (!isActive(before)) return reply({ runId, status: before.status });
      await runs.cancel(caller.orgId, runId, caller.keyId);
      recover(runId);
      const after = await requestedRun(db, caller, runId);
      if (!isActive(after)) return reply({ runId, status: after.status });
      // Its row has no other status where that can't be written.
      const warning = after.status === "running" ? unwritten : undefined;
      return reply({ runId, status: "cancelling", warning });
    },
  );
}
