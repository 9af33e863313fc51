import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { ServedRun } from "../../contract/run.ts";
import { countWaiters } from "../admission/queue.ts";
import { requireChange } from "../http/authenticate.ts";
import { refuseRemoved } from "../http/requestedRun.ts";
import { runFolder } from "../runs/runFolder.ts";
import type { Caller } from "../store/keys.ts";
import { readOrg } from "../store/orgs.ts";
import { filesRemovedAt } from "../store/runFiles.ts";
import { listRuns, type PagePosition, readRun, readRunPage } from "../store/runs.ts";
import { layout, type PageParts } from "./layout.ts";
import { linesOf, readLogTail, wholeLog } from "./pageLog.ts";
import { formTexts, nextPath, type PageDeps, type PageEnv } from "./pageRequest.ts";
import { runsView } from "./runsView.ts";
import { runView } from "./runView.ts";

const runsOfPage = 20;

/** More active runs than any org has slots. */
const mostActive = 100;

/** How many lines of a log the page shows; a link leads to all of it. */
const mostLines = 500;

/** The list of runs, the page of one run, and their cancel buttons. */
export function runPageRoutes({ db, clock, runs, logs, folder, assets }: PageDeps): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();

  const show = async (
    context: Context<PageEnv>,
    parts: Pick<PageParts, "title" | "main" | "events" | "now">,
  ) => {
    const caller = context.get("caller");
    const reader = { org: await readOrg(db, caller, parts.now), role: caller.role };
    return context.html(await layout({ ...parts, reader }, assets));
  };

  const existing = async (caller: Caller, runId: string): Promise<ServedRun> => {
    const run = await readRun(db, caller, runId);
    if (run !== undefined) return runs.upToDate(run);
    throw new PipelineError("not-found", `There is no run ${runId.slice(0, 100)} in this org.`, {
      next: "Look in the list of runs.",
    });
  };

  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const [org, page, { runs: activeRuns }, waiting] = await Promise.all([
      readOrg(db, caller, now),
      readRunPage(db, caller.orgId, placeOf(context.req.query()), runsOfPage),
      listRuns(db, caller.orgId, { status: "in-work", limit: mostActive }),
      countWaiters(db, caller.orgId),
    ]);
    const main = runsView({
      org,
      caller,
      page: { ...page, runs: page.runs.map((run) => runs.upToDate(run)) },
      activeRuns: activeRuns.map((run) => runs.upToDate(run)).toReversed(),
      waiting,
      now,
      back: `/app/runs${new URL(context.req.url).search}`,
    });
    return show(context, { title: "Runs", main, events: "/app/events", now });
  });

  routes.get("/:id", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const run = await existing(caller, context.req.param("id"));
    const { runId } = run;
    const removedAt = await filesRemovedAt(db, runId);
    const { entries, isWhole } = await readLogTail(runFolder(folder, runId).log, logs.readable(runId));
    const lines = linesOf(entries);
    const shown = lines.slice(-mostLines);
    return show(context, {
      title: `${run.pipeline}, ${run.status}`,
      main: runView({
        run,
        caller,
        now,
        removedAt,
        lines: shown,
        isWhole: isWhole && shown.length === lines.length,
      }),
      events: `/app/events?run=${runId}`,
      now,
    });
  });

  routes.get("/:id/log.txt", async (context) => {
    const run = await existing(context.get("caller"), context.req.param("id"));
    await refuseRemoved(db, run.runId);
    return context.body(wholeLog(run, logs), 200, { "content-type": "text/plain; charset=utf-8" });
  });

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
    const { runId } = await existing(caller, context.req.param("id"));
    await runs.cancel(caller.orgId, runId, caller.keyId);
    return context.redirect(nextPath(back), 303);
  });

  return routes;
}

function placeOf({ before, after }: Readonly<Record<string, string>>): PagePosition {
  if (after !== undefined) return { kind: "older", than: after };
  return before === undefined ? { kind: "newest" } : { kind: "newer", than: before };
}
