import { Hono } from "hono";
import { isInWork, runQuerySchema } from "../../contract/run.ts";
import { listRuns, readRun } from "../store/runs.ts";
import type { AppDeps } from "./appDeps.ts";
import { requireChange, type SignedIn } from "./authenticate.ts";
import { noSuchRun } from "./noSuchRun.ts";
import { reply } from "./reply.ts";
import { requestQuery } from "./requestQuery.ts";
import { startRuns } from "./startRuns.ts";

/** Starting, listing, reading and cancelling runs. */
export function runRoutes(deps: AppDeps): Hono<SignedIn> {
  const { db, runs, sweep } = deps;
  const routes = new Hono<SignedIn>();

  routes.post("/", startRuns(deps));

  routes.get("/", async (context) => {
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
    const told = page.runs.map((run) => runs.asTold(run));
    return reply({ ...page, runs: isOfWork ? told.filter((run) => run.status === status) : told });
  });

  routes.get("/:id", async (context) => {
    const runId = context.req.param("id");
    return reply(runs.asTold((await readRun(db, context.get("caller"), runId)) ?? noSuchRun(runId)));
  });

  routes.post("/:id/cancel", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const runId = context.req.param("id");
    const before = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
    if (!isInWork(before)) return reply({ runId, status: before.status });
    await runs.cancel(caller.orgId, runId, caller.keyId);
    // One that nobody holds has nobody who ends it, unless it is looked for.
    if (!runs.held().has(runId)) sweep();
    const after = (await readRun(db, caller, runId)) ?? noSuchRun(runId);
    return reply({ runId, status: isInWork(after) ? "cancelling" : after.status });
  });

  return routes;
}
