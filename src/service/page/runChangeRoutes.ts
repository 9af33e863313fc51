import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { Refusal } from "../../contract/refusal.ts";
import { english, limitText } from "../../text/refusalText.ts";
import { duration } from "../../text/time.ts";
import type { Quota } from "../admission/slots.ts";
import { requireChange } from "../http/authenticate.ts";
import { readIdempotencyKey } from "../http/requestInput.ts";
import { requestRun } from "../http/startRoute.ts";
import { listRuns } from "../store/runs.ts";
import { existingRun, formTexts, nextPath, type PageDeps, type PageEnv } from "./pageRequest.ts";

/** More active runs than any org has slots. */
export const mostActive = 100;

/** What the page's buttons do: cancel, cancel mine, run again. */
export function runChangeRoutes(deps: PageDeps): Hono<PageEnv> {
  const { db, runs } = deps;
  const routes = new Hono<PageEnv>();

  routes.post("/cancel-mine", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const { back } = await formTexts(context);
    const { orgId, keyId } = caller;
    const mine = await listRuns(db, orgId, { status: "in-work", actor: keyId, limit: mostActive });
    await Promise.all(mine.runs.map(({ runId }) => runs.cancel(orgId, runId, keyId)));
    return context.redirect(nextPath(back), 303);
  });

  routes.post("/:id/cancel", async (context) => {
    const caller = context.get("caller");
    requireChange(caller);
    const { back } = await formTexts(context);
    const { runId } = await existingRun(caller, context.req.param("id"), deps);
    await runs.cancel(caller.orgId, runId, caller.keyId);
    return context.redirect(nextPath(back), 303);
  });

  routes.post("/:id/again", (context) => runAgain(context, context.req.param("id"), deps));

  return routes;
}

/** Starts a run's pipeline again, as its file is now, at a step if one is named: a run of the caller's, whoever started the one before. */
async function runAgain(context: Context<PageEnv>, runId: string, deps: PageDeps): Promise<Response> {
  const caller = context.get("caller");
  requireChange(caller);
  const { request, from: fromStep } = await formTexts(context);
  const { pipeline, project } = await existingRun(caller, runId, deps);
  // A browser that waits shows nothing of the queue, so a taken slot refuses at once.
  const how = { idempotencyKey: readIdempotencyKey(request), waitSeconds: 0 };
  const outcome = await requestRun(context, { pipeline, project, fromStep }, how, deps);
  if (outcome.kind === "refused") throw notStarted(pipeline, outcome.refusal, outcome.quota);
  return context.redirect(`/app/runs/${outcome.run.runId}`, 303);
}

/** The reset is told in UTC: the reader's clock may be in another zone than the service's. */
function notStarted(pipeline: string, refusal: Refusal, { limits }: Quota): PipelineError {
  const why = limitText({ refusal, waitedSeconds: 0 }, limits.runsPerDay, english);
  const next =
    refusal.scope === "org"
      ? "Run it again when that has ended, or cancel that first."
      : `The count starts again at 00:00 UTC, in ${duration(refusal.secondsToReset * 1000)}.`;
  return new PipelineError("too-many-runs", `${pipeline} was not started: ${why}`, { next });
}
