import { Hono } from "hono";
import type { RouterRoute } from "hono/types";
import { PipelineError } from "../../contract/errors.ts";
import { pageRoutes } from "../page/pageRoutes.ts";
import { SignInLinks, signInLinkRoute } from "../page/signInLinks.ts";
import { readOrg } from "../store/orgs.ts";
import type { AppDeps } from "./appDeps.ts";
import { artifactRoutes } from "./artifactRoutes.ts";
import { authenticate } from "./authenticate.ts";
import { Endpoints } from "./endpoints.ts";
import { eventStream } from "./eventStream.ts";
import { type AppEnv, everyRequest, logFailure, routeOf } from "./everyRequest.ts";
import { keyRoutes } from "./keyRoutes.ts";
import { logRoutes } from "./logRoutes.ts";
import { projectRoutes } from "./projectRoutes.ts";
import { answerOf, errorAnswer, HttpProblem, rateLimitHeaders, reply, send } from "./reply.ts";
import { runRoutes } from "./runRoutes.ts";
import { handOverRoute } from "./serviceRoutes.ts";

/** The service's HTTP face (contract: "Endpoints"). */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(everyRequest(deps));
  app.onError((error, context) => {
    logFailure(deps.log, error, {
      requestId: context.get("requestId"),
      method: context.req.method,
      route: routeOf(context),
      callerLeft: context.env.outgoing.destroyed,
    });
    return send(errorAnswer(error));
  });
  app.notFound((context) => {
    const { method, path } = context.req;
    const allowed = allowedMethods(app.routes, path);
    throw allowed.length === 0
      ? new PipelineError("not-found", `There is no ${method} ${path.slice(0, 200)} here.`, {
          next: "GET /openapi.json lists what there is.",
        })
      : new HttpProblem(405, "invalid-request", {
          message: `${path.slice(0, 200)} is not there for ${method}.`,
          next: `It is for ${allowed.join(", ")}.`,
          headers: { allow: allowed.join(", ") },
        });
  });

  const links = new SignInLinks(deps.clock);
  const { pageFolder } = deps;
  if (pageFolder !== undefined) app.route("/app", pageRoutes({ ...deps, pageFolder }, links));

  const endpoints = new Endpoints();
  endpoints.routes.use("/api/*", authenticate(deps.db));
  serviceRoutes(endpoints, deps);
  orgRoutes(endpoints, deps);
  runRoutes(endpoints, deps);
  logRoutes(endpoints, deps);
  artifactRoutes(endpoints, deps);
  projectRoutes(endpoints, deps);
  keyRoutes(endpoints, deps);
  signInLinkRoute(endpoints, links);
  app.route("/", endpoints.routes);
  return app;
}

function serviceRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/healthz",
      group: "service",
      summary: "Says that the service lives, and which start of it this is",
      access: "open",
      reply: { description: "It lives.", json: "Health" },
    },
    () => {
      const { instance, life } = deps;
      if (life.isEnding()) {
        throw new HttpProblem(503, "internal", {
          message: "This service is about to end.",
          next: "Look for the one that comes after it.",
        });
      }
      return reply({ ok: true, instance, version: life.version });
    },
  );
  handOverRoute(endpoints, deps);
  endpoints.add(
    {
      method: "get",
      path: "/openapi.json",
      group: "service",
      summary: "This document",
      access: "open",
      reply: { description: "OpenAPI 3.1.", json: "OpenApi" },
    },
    async (context) => {
      const { openApiDocument } = await import("./openApiDocument.ts");
      return context.json(openApiDocument(endpoints.all));
    },
  );
}

function orgRoutes(endpoints: Endpoints, deps: AppDeps): void {
  endpoints.add(
    {
      method: "get",
      path: "/api/org",
      group: "org",
      summary: "The caller's org, its limits and today's use",
      access: "every role",
      reply: {
        description: "The org; `actor` is the id of the key that asked.",
        json: "Org",
        headers: ["RateLimit", "RateLimit-Policy"],
      },
    },
    async (context) => {
      const now = deps.clock.now();
      const org = await readOrg(deps.db, context.get("caller"), now);
      return send(answerOf(org, 200, rateLimitHeaders(org, now)));
    },
  );
  endpoints.add(
    {
      method: "get",
      path: "/api/events",
      group: "org",
      summary: "What changes in the org, as it changes",
      description:
        "Events `org` (data: an Org) and `run` (data: a Run). First the state as it is, then each change. A comment at least every 15 s. The stream ends when the key is revoked. `conflict` when the key follows too many events and logs already.",
      access: "every role",
      reply: { description: "Server-sent events, without end.", text: ["text/event-stream"] },
      errors: ["conflict"],
    },
    (context) => eventStream(context, context.get("caller"), deps),
  );
}

/** The methods that a path is there for, as the routes are written (`:name` is any one part); none where it isn't. */
function allowedMethods(routes: readonly Pick<RouterRoute, "method" | "path">[], path: string): string[] {
  const methods = routes
    .filter((route) => route.method !== "ALL" && fits(route.path, path))
    .map(({ method }) => method);
  // Whatever can be read can be asked for without its body.
  return [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))].sort();
}

function fits(pattern: string, path: string): boolean {
  const parts = pattern.split("/");
  const asked = path.split("/");
  return (
    parts.length === asked.length &&
    parts.every((part, position) =>
      part.startsWith(":") ? asked[position] !== "" : part === asked[position],
    )
  );
}
