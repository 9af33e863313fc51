import { Hono } from "hono";
import { utcDay } from "../../contract/day.ts";
import { fromFailedStep } from "../../contract/fromStep.ts";
import { inputsAgain } from "../../contract/inputs.ts";
import type { ServedRun } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { ranText } from "../../text/changes.ts";
import { requestedPipeline } from "../http/ranPipelineRoutes.ts";
import { refuseRemoved } from "../http/requestedRun.ts";
import { readOrg } from "../store/orgs.ts";
import { keepsPipeline, readChanges } from "../store/ranPipelines.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import { listRuns, pipelineNames, readDayUse } from "../store/runs.ts";
import { linesOf, logText } from "./pageLog.ts";
import { existingRun, type PageDeps, type PageEnv, showPage } from "./pageRequest.ts";
import { mostActive } from "./runChangeRoutes.ts";
import { filterOf, queryOf } from "./runFilter.ts";
import { runsView } from "./runsView.ts";
import { runView } from "./runView.ts";

const runsOfPage = 20;
/** How many start requests in the queue the page names. */
const mostWaiters = 10;

/** How many lines of a log the page shows; a link leads to all of it. */
const mostLines = 500;

/** The list of runs and the page of one run. */
export function runPageRoutes(deps: PageDeps): Hono<PageEnv> {
  const { db, clock, admission, runs, logs, pipelines } = deps;
  const routes = new Hono<PageEnv>();

  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const texts = context.req.query();
    const filter = filterOf(texts);
    const { orgId } = caller;
    const [org, use, page, { runs: activeRuns }, queue, first, names] = await Promise.all([
      readOrg(db, caller, now),
      readDayUse(db, orgId, utcDay(now)),
      listRuns(db, orgId, {
        ...queryOf(filter, caller),
        after: texts["after"],
        before: texts["before"],
        limit: runsOfPage,
      }),
      listRuns(db, caller.orgId, { status: "in-work", limit: mostActive }),
      admission.queue(orgId),
      admission.firstWaiters(orgId, mostWaiters),
      pipelineNames(db, orgId),
    ]);
    const main = runsView({
      org,
      use,
      caller,
      page: { ...page, runs: page.runs.map((run) => runs.upToDate(run)) },
      activeRuns: activeRuns.map((run) => runs.upToDate(run)).toReversed(),
      queue: { first, waiting: queue.waiting },
      now,
      filter,
      pipelines: names,
      back: `/app/runs${new URL(context.req.url).search}`,
    });
    return showPage(context, { title: "Runs", main, events: "/app/events", now }, deps);
  });

  routes.get("/:id", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const run = await existingRun(caller, context.req.param("id"), deps);
    const { runId, pipeline, project } = run;
    const removedAt = await filesRemovedAt(db, runId);
    const { entries, isWhole } = await logs.tail(runId);
    const lines = linesOf(entries);
    // Whatever is wrong with the file now is said when the new run is started.
    const again = { pipeline, project, inputs: inputsAgain(run) };
    const pipelineNow = async () =>
      (await pipelines.find(caller.orgId, again).catch(() => undefined))?.pipeline;
    const goOn = fromFailedStep(run) && (await import("../../pipeline/stepToGoOnAt.ts"));
    const goOnAt = goOn?.stepToGoOnAt(run, await pipelineNow());
    const shown = lines.slice(-mostLines);
    const main = runView({
      run,
      caller,
      now,
      removedAt,
      goOnAt,
      ...(await whatRan(db, caller.orgId, run)),
      lines: shown,
      isWhole: isWhole && shown.length === lines.length,
    });
    const parts = { title: `${run.pipeline}, ${run.status}`, main, events: `/app/events?run=${runId}`, now };
    return showPage(context, parts, deps);
  });

  textRoutes(routes, deps);
  return routes;
}

/** What of a run is plain text: its log, or the lines of it that have a text, and its pipeline file. */
function textRoutes(routes: Hono<PageEnv>, deps: PageDeps): void {
  routes.get("/:id/log.txt", async (context) => {
    const run = await existingRun(context.get("caller"), context.req.param("id"), deps);
    await refuseRemoved(deps.db, run.runId);
    return context.body(await logText(run, deps.logs, context.req.query("find")), 200, {
      "content-type": "text/plain; charset=utf-8",
    });
  });

  routes.get("/:id/pipeline.txt", async (context) => {
    const run = await existingRun(context.get("caller"), context.req.param("id"), deps);
    return context.text(ranText(await requestedPipeline(deps.db, run)));
  });
}

/** Whether a run's pipeline file is kept, and of a run that ended without success what changed since the last success. */
async function whatRan(db: PageDeps["db"], orgId: string, run: ServedRun) {
  const hasPipeline = await keepsPipeline(db, run.runId);
  const isAsked = !isActive(run) && run.status !== "succeeded";
  return { hasPipeline, changes: isAsked ? await readChanges(db, orgId, run) : undefined };
}
