import { randomUUID } from "node:crypto";
import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { PipelineError } from "../../contract/errors.ts";
import { mayChangeRuns } from "../../contract/keys.ts";
import type { ServedPipelineEntry } from "../../contract/pipelines.ts";
import type { SignedIn } from "../http/authenticate.ts";
import type { Caller } from "../store/keys.ts";
import { type Html, marked } from "./layout.ts";
import { type PageDeps, showPage } from "./pageRequest.ts";
import { askForInputs, type StartTarget, startAddress, startByForm } from "./startForm.ts";

/** The list of pipelines, and what starts one. */
export function pipelineRoutes(deps: PageDeps): Hono<SignedIn> {
  const { clock, pipelines } = deps;
  const routes = new Hono<SignedIn>();
  routes.get("/", async (context) => {
    const caller = context.get("caller");
    const main = pipelinesView(await pipelines.list(caller.orgId, undefined), caller);
    return showPage(context, { title: "Pipelines", main, now: clock.now() }, deps);
  });
  routes.get("/start", (context) => askForInputs(context, targetOf(context), deps));
  routes.post("/start", (context) => startByForm(context, targetOf(context), deps));
  return routes;
}

function targetOf(context: Context<SignedIn>): StartTarget {
  const { pipeline, project } = context.req.query();
  if (pipeline === undefined || project === undefined) {
    throw new PipelineError("not-found", "This address names no pipeline.", {
      next: "Choose one in the list of pipelines.",
    });
  }
  return { pipeline, project, run: undefined };
}

/** The pipelines of the org's projects, also those that never ran. */
function pipelinesView(pipelines: readonly ServedPipelineEntry[], caller: Caller): Html {
  if (pipelines.length === 0) {
    return html`<h1>Pipelines</h1>
<div class="empty">
<p>No pipelines yet.</p>
<p class="quiet">The files <code>pipelines/*.yaml</code> of a folder are listed here once a run was started in it, or it was opened in VS Code.</p>
</div>`;
  }
  return html`<h1>Pipelines</h1>
<table class="runs">
<caption class="unseen">The pipelines of the org's projects</caption>
<thead><tr><th scope="col">Pipeline</th><th scope="col" class="wide">Project</th><th scope="col"><span class="unseen">Run</span></th></tr></thead>
<tbody>${pipelines.map((pipeline) => rowView(pipeline, caller))}</tbody>
</table>`;
}

function rowView({ name, project, tags, inputs, problem }: ServedPipelineEntry, caller: Caller): Html {
  const history = `/app/runs?${new URLSearchParams({ pipeline: name })}`;
  return html`<tr>
<th scope="row"><a href="${history}" title="Its runs"><bdi>${name}</bdi></a>
${tags.length === 0 ? "" : html`<span class="quiet under">${tags.join(", ")}</span>`}
<span class="quiet under narrow"><bdi>${project}</bdi></span>
${problem === undefined ? "" : html`<span class="quiet under why">${marked(problem.split("\n", 1).join())}</span>`}</th>
<td class="wide"><bdi>${project}</bdi></td>
<td>${problem === undefined && mayChangeRuns(caller.role) ? startView({ name, project, inputs }) : ""}</td>
</tr>`;
}

function startView({
  name,
  project,
  inputs,
}: Pick<ServedPipelineEntry, "name" | "project" | "inputs">): Html {
  const address = startAddress({ pipeline: name, project, run: undefined });
  const whose = html`<span class="unseen"> ${name} of ${project}</span>`;
  if (inputs.length > 0) return html`<a class="button" href="${address}">Run…${whose}</a>`;
  return html`<form method="post" action="${address}" data-leaves>
<input type="hidden" name="request" value="${randomUUID()}">
<button>Run${whose}</button>
</form>`;
}
