import { randomUUID } from "node:crypto";
import { type Context, Hono } from "hono";
import { createMiddleware } from "hono/factory";
import { html } from "hono/html";
import { PipelineError } from "../../contract/errors.ts";
import { mayChangeRuns } from "../../contract/keys.ts";
import type { ServedPipelineEntry } from "../../contract/pipelines.ts";
import { hideSecrets } from "../../machine/apiSecret.ts";
import type { AppDeps } from "../http/appDeps.ts";
import { sendArtifact } from "../http/artifactRoutes.ts";
import type { SignedIn } from "../http/authenticate.ts";
import { logFailure } from "../http/everyRequest.ts";
import { liveReply } from "../http/liveReply.ts";
import { eventPieces } from "../http/orgRoutes.ts";
import { HttpProblem, statusOf } from "../http/reply.ts";
import type { Caller } from "../store/keys.ts";
import { findSession } from "../store/sessions.ts";
import { openAssets } from "./assets.ts";
import { type Html, layout, marked } from "./layout.ts";
import {
  ownOrigin,
  type PageDeps,
  requireSession,
  sessionCookie,
  showPage,
  startPath,
} from "./pageRequest.ts";
import { runPageRoutes } from "./runPageRoutes.ts";
import { signInRoutes } from "./signInRoutes.ts";
import { askForInputs, type StartTarget, startAddress, startByForm } from "./startForm.ts";
import { whatCounts } from "./whatCounts.ts";

/** The routes under `/app`: the page in a browser, authenticated by a cookie. */
export function pageRoutes(app: AppDeps & { readonly pageFolder: string }): Hono<SignedIn> {
  const assets = openAssets(app.pageFolder);
  const deps: PageDeps = { ...app, assets, cookie: sessionCookie(app.dataName) };
  const routes = new Hono<SignedIn>();
  routes.use(pagePolicy);
  routes.use(requireSameOrigin);
  routes.onError((error, context) => errorResponse(context, error, deps));

  routes.get("/", (context) => context.redirect(startPath, 303));
  routes.route("/assets", assets.routes);
  routes.route("/", signInRoutes(deps));
  routes.get("/what-counts", async (context) => {
    const parts = {
      title: whatCounts.title,
      main: whatCountsView(),
      reader: undefined,
      now: app.clock.now(),
    };
    return context.html(await layout(parts, assets));
  });

  const signedIn = new Hono<SignedIn>();
  signedIn.use(requireSession(deps));
  signedIn.get("/events", (context) => pageEvents(context, deps));
  signedIn.route("/pipelines", pipelineRoutes(deps));
  signedIn.route("/runs", runPageRoutes(deps));
  signedIn.get("/runs/:id/artifacts/:file", (context) => sendArtifact(context, context.req.param(), deps));
  signedIn.all("*", () => {
    throw new PipelineError("not-found", "There is no such page.", { next: "Look in the list of runs." });
  });
  routes.route("/", signedIn);
  return routes;
}

/** No inline code, nothing from other origins, no framing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Sets the pages' policy. Other replies under `/app`, such as artifacts, keep the default, which runs nothing. */
const pagePolicy = createMiddleware(async (context, next) => {
  await next();
  const isPage = context.res.headers.get("content-type")?.startsWith("text/html") ?? false;
  if (isPage) context.header("content-security-policy", contentSecurityPolicy);
});

/**
 * Rejects unsafe requests from other origins. `SameSite` isn't enough: to a browser, all ports of 127.0.0.1 are one
 * site, so it would admit the page of any other program on this machine.
 */
const requireSameOrigin = createMiddleware(async (context, next) => {
  const { method } = context.req;
  if (method === "GET" || method === "HEAD") return next();
  const site = context.req.header("sec-fetch-site");
  // Older browsers send no `Sec-Fetch-Site`, and over plain HTTP none does except to loopback.
  const isOwn =
    site === undefined ? context.req.header("origin") === ownOrigin(context) : site === "same-origin";
  if (!isOwn) {
    throw new PipelineError("forbidden", "This request did not come from the page itself.", {
      next: "Open the page and press the button there.",
    });
  }
  return next();
});

/** An error as a page. API keys in its text are hidden; an unexpected error is logged, and its page gives no details. */
async function errorResponse(
  context: Context<SignedIn>,
  thrown: unknown,
  { assets, clock, log, added }: Pick<PageDeps, "assets" | "clock" | "log" | "added">,
): Promise<Response> {
  logFailure(log, thrown, context);
  const found = added?.problemOf(thrown) ?? thrown;
  const error =
    found instanceof PipelineError
      ? found
      : new PipelineError("internal", "The service failed at this page.");
  const parts = { title: titleOf(error.type), main: errorView(error), reader: undefined, now: clock.now() };
  const headers = error instanceof HttpProblem ? error.headers : {};
  return context.html(hideSecrets(await layout(parts, assets)), statusOf(error), headers);
}

function errorView({ type, message, next }: PipelineError): Html {
  return html`<h1>${titleOf(type)}</h1>
<p class="message">${marked(message)} ${marked(next)}</p>
${type === "too-many-runs" ? html`<p><a href="/app/what-counts">${whatCounts.title}</a></p>` : ""}
<p><a href="${startPath}">Back to the runs</a></p>`;
}

/** What uses one of the day's runs. Needs no sign-in: it is the same for everyone. */
function whatCountsView(): Html {
  const { title, rule, counts, doesNotCount, day } = whatCounts;
  const list = (items: readonly string[]) => html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`;
  return html`<h1>${title}</h1>
<p>${marked(rule)}</p>
<section><h2>Counts</h2>${list(counts)}</section>
<section><h2>Doesn't count</h2>${list(doesNotCount)}</section>
<section><h2>The day</h2><p>${day}</p></section>
<p class="back"><a href="${startPath}">Back to the runs</a></p>`;
}

function titleOf(type: PipelineError["type"]): string {
  switch (type) {
    case "not-found":
      return "Not found";
    case "forbidden":
      return "Not allowed";
    case "too-many-runs":
      return "Not started";
    default:
      return "That did not work";
  }
}

/**
 * `GET /app/events`: the events of `GET /api/events` for a session and, with `?run=<id>`, also an event when that run's
 * log grows. The session is checked before each event and keep-alive comment, so a signed-out browser gets nothing.
 */
export function pageEvents(
  context: Context<SignedIn>,
  deps: Pick<PageDeps, "cookie" | "logs" | "db" | "clock" | "events" | "log" | "replies">,
): Response {
  const { db, clock, cookie, logs } = deps;
  const id = cookie.read(context) ?? "";
  const runId = context.req.query("run");
  const lastEventId = context.req.header("last-event-id");
  const followLog = runId === undefined ? undefined : (onGrown: () => void) => logs.subscribe(runId, onGrown);
  return liveReply(context, deps, {
    contentType: "text/event-stream",
    pieces: async function* (signal) {
      const pieces = eventPieces(context.get("caller"), lastEventId, deps, signal, followLog);
      for await (const piece of pieces) {
        if ((await findSession(db, id, clock.now())) === undefined) return;
        yield piece;
      }
    },
  });
}

/** The list of pipelines, and what starts one. */
function pipelineRoutes(deps: PageDeps): Hono<SignedIn> {
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
