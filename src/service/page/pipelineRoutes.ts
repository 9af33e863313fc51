import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { readOrg } from "../store/orgs.ts";
import { layout } from "./layout.ts";
import type { PageDeps, PageEnv } from "./pageRequest.ts";
import { pipelinesView } from "./pipelinesView.ts";
import { askForInputs, startByForm } from "./runChangeRoutes.ts";
import type { StartTarget } from "./startForm.ts";

/** The list of pipelines, and what starts one. */
export function pipelineRoutes(deps: PageDeps): Hono<PageEnv> {
  const { db, clock, pipelines, assets } = deps;
  const routes = new Hono<PageEnv>();
  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const now = clock.now();
    const [org, listed] = await Promise.all([
      readOrg(db, caller, now),
      pipelines.list(caller.orgId, undefined),
    ]);
    const main = pipelinesView(listed, caller);
    return context.html(
      await layout({ title: "Pipelines", main, reader: { org, role: caller.role }, now }, assets),
    );
  });
  routes.get("/start", (context) => askForInputs(context, targetOf(context), deps));
  routes.post("/start", (context) => startByForm(context, targetOf(context), deps));
  return routes;
}

function targetOf(context: Context<PageEnv>): StartTarget {
  const { pipeline, project } = context.req.query();
  if (pipeline === undefined || project === undefined) {
    throw new PipelineError("not-found", "This address names no pipeline.", {
      next: "Choose one in the list of pipelines.",
    });
  }
  return { pipeline, project, run: undefined };
}
