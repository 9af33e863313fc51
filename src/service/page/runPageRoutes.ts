import { type Context, Hono } from "hono";
import { fromFailedStep } from "../../contract/fromStep.ts";
import { utcDay } from "../../contract/limits.ts";
import { inputsForRerun } from "../../contract/pipelines.ts";
import type { ServedRun } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { ranText } from "../../text/changes.ts";
import { requireAccess, type SignedIn } from "../http/authenticate.ts";
import { refuseRemoved, requestedPipeline, requestedRun } from "../http/runRoutes.ts";
import { readOrg } from "../store/orgs.ts";
import { keepsPipeline, readChanges } from "../store/ranPipelines.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import { listRuns, pipelineNames, readDayUse } from "../store/runs.ts";
import { linesOf, logText } from "./pageLog.ts";
import { formTexts, nextPath, type PageDeps, showPage } from "./pageRequest.ts";
import { filterOf, queryOf } from "./runFilter.ts";
import { runsView } from "./runsView.ts";
import { runView } from "./runView.ts";
import { askForInputs, type StartTarget, startByForm } from "./startForm.ts";

const runsOfPage = 20;
/** More active runs than any org has slots. */
const mostActive = 100;
/** How many lines of a log the page shows; a link leads to all of it. */
const mostLines = 500;

export function runPageRoutes(deps: PageDeps): Hono<SignedIn> {
  const { db, clock, admission, logs, pipelines } = deps;
  const routes = new Hono<SignedIn>();

  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const texts = context.req.query();
    const filter = filterOf(texts);
    const { orgId } = caller;
    const [org, use, page, { runs: activeRuns }, { waiting }, names] = await Promise.all([
      readOrg(db, caller, now),
      readDayUse(db, orgId, utcDay(now)),
      listRuns(db, orgId, {
        ...queryOf(filter, caller),
        after: texts["after"],
        before: texts["before"],
        limit: runsOfPage,
      }),
      listRuns(db, orgId, { status: "in-work", limit: mostActive }),
      admission.queue(orgId),
      pipelineNames(db, orgId),
    ]);
    const main = runsView({
      org,
      use,
      caller,
      page,
      waiting,
      now,
      filter,
      activeRuns: activeRuns.toReversed(),
      pipelines: names,
      back: `/app/runs${new URL(context.req.url).search}`,
    });
    return showPage(context, { title: "Runs", main, events: "/app/events", now }, deps);
  });

  routes.get("/:id", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const run = await requestedRun(db, caller, context.req.param("id"));
    const { runId, pipeline, project } = run;
    const removedAt = await filesRemovedAt(db, runId);
    const { entries, isWhole } = await logs.tail(runId);
    const lines = linesOf(entries);
    // A problem of the file as it is now is ignored here; starting the new run reports it.
    const again = { pipeline, project, inputs: inputsForRerun(run) };
    const pipelineNow = async () =>
      (await pipelines.find(caller.orgId, again).catch(() => undefined))?.pipeline;
    const loaded = fromFailedStep(run) && (await import("../../pipeline/stepToResumeAt.ts"));
    const resumeAt = loaded?.stepToResumeAt(run, await pipelineNow());
    const shown = lines.slice(-mostLines);
    const main = runView({
      run,
      caller,
      now,
      removedAt,
      resumeAt,
      ...(await whatRan(db, caller.orgId, run)),
      lines: shown,
      isWhole: isWhole && shown.length === lines.length,
    });
    const parts = { title: `${run.pipeline}, ${run.status}`, main, events: `/app/events?run=${runId}`, now };
    return showPage(context, parts, deps);
  });

  textRoutes(routes, deps);
  changeRoutes(routes, deps);
  return routes;
}

/** A run's texts: its log, or the log's lines that contain a text, and its pipeline file. */
function textRoutes(routes: Hono<SignedIn>, { db, logs }: PageDeps): void {
  routes.get("/:id/log.txt", async (context) => {
    const run = await requestedRun(db, context.get("caller"), context.req.param("id"));
    await refuseRemoved(db, run.runId);
    return context.body(await logText(run, logs, context.req.query("find")), 200, {
      "content-type": "text/plain; charset=utf-8",
    });
  });

  routes.get("/:id/pipeline.txt", async (context) => {
    const run = await requestedRun(db, context.get("caller"), context.req.param("id"));
    return context.text(ranText(await requestedPipeline(db, run)));
  });
}

/** What the page's buttons do: cancel, cancel mine, run again. */
function changeRoutes(routes: Hono<SignedIn>, deps: PageDeps): void {
  const { db, runs } = deps;

  routes.post("/cancel-mine", async (context) => {
    const caller = context.get("caller");
    requireAccess("members", caller);
    const { back } = await formTexts(context);
    const { orgId, keyId } = caller;
    const mine = await listRuns(db, orgId, { status: "in-work", actor: keyId, limit: mostActive });
    await Promise.all(mine.runs.map(({ runId }) => runs.cancel(orgId, runId, keyId)));
    return context.redirect(nextPath(back), 303);
  });

  routes.post("/:id/cancel", async (context) => {
    const caller = context.get("caller");
    requireAccess("members", caller);
    const { back } = await formTexts(context);
    const { runId } = await requestedRun(db, caller, context.req.param("id"));
    await runs.cancel(caller.orgId, runId, caller.keyId);
    return context.redirect(nextPath(back), 303);
  });

  const againOf = async (context: Context<SignedIn>, id: string): Promise<StartTarget> => {
    const run = await requestedRun(db, context.get("caller"), id);
    return { pipeline: run.pipeline, project: run.project, run };
  };
  routes.get("/:id/again", async (context) =>
    askForInputs(context, await againOf(context, context.req.param("id")), deps),
  );
  routes.post("/:id/again", async (context) =>
    startByForm(context, await againOf(context, context.req.param("id")), deps),
  );
}

/** Whether a run's pipeline file is kept and, unless it succeeded or is active, what changed since the last success. */
async function whatRan(db: PageDeps["db"], orgId: string, run: ServedRun) {
  const hasPipeline = await keepsPipeline(db, run.runId);
  const isAsked = !isActive(run) && run.status !== "succeeded";
  return { hasPipeline, changes: isAsked ? await readChanges(db, orgId, run) : undefined };
}
