import { type Context, Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { type PageDeps, type PageEnv, showPage } from "./pageRequest.ts";
import { pipelinesView } from "./pipelinesView.ts";
import { askForInputs, startByForm } from "./runChangeRoutes.ts";
import type { StartTarget } from "./startForm.ts";

/** The list of pipelines, and what starts one. */
export function pipelineRoutes(deps: PageDeps): Hono<PageEnv> {
  const { clock, pipelines } = deps;
  const routes = new Hono<PageEnv>();
  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const main = pipelinesView(await pipelines.list(caller.orgId, undefined), caller);
    return showPage(context, { title: "Pipelines", main, now: clock.now() }, deps);
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
