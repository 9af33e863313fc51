import { Hono } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import { pageRoutes } from "../page/pageRoutes.ts";
import { SignInLinks, signInLinkRoutes } from "../page/signInLinks.ts";
import { readOrg } from "../store/orgs.ts";
import { allowedMethods } from "./allowedMethods.ts";
import { answerOf, errorAnswer } from "./answer.ts";
import type { AppDeps } from "./appDeps.ts";
import type { AppEnv } from "./appEnv.ts";
import { artifactRoutes } from "./artifactRoutes.ts";
import { authenticate, type SignedIn } from "./authenticate.ts";
import { eventStream } from "./eventStream.ts";
import { everyRequest, routeOf } from "./everyRequest.ts";
import { handOverRoute } from "./handOverRoute.ts";
import { HttpProblem } from "./httpProblem.ts";
import { keyRoutes } from "./keyRoutes.ts";
import { logRoutes } from "./logRoutes.ts";
import { projectRoutes } from "./projectRoutes.ts";
import { rateLimitHeaders } from "./rateLimit.ts";
import { reply, send } from "./reply.ts";
import { logFailure } from "./requestFailed.ts";
import { runRoutes } from "./runRoutes.ts";

/** The service's HTTP face (contract: "Endpoints"). Each of its routes stands in `openApi/endpoints.ts` too. */
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

  app.get("/healthz", () => {
    const { instance, life } = deps;
    if (life.isEnding()) {
      throw new HttpProblem(503, "internal", {
        message: "This service is about to end.",
        next: "Look for the one that comes after it.",
      });
    }
    return reply({ ok: true, instance, version: life.version });
  });
  app.get("/openapi.json", async (context) => {
    const { openApiDocument } = await import("../openApi/document.ts");
    return context.json(openApiDocument());
  });

  const links = new SignInLinks(deps.clock);
  const { pageFolder } = deps;
  if (pageFolder !== undefined) app.route("/app", pageRoutes({ ...deps, pageFolder }, links));

  const api = new Hono<SignedIn>();
  api.use(authenticate(deps.db));
  api.get("/org", async (context) => {
    const now = deps.clock.now();
    const org = await readOrg(deps.db, context.get("caller"), now);
    return send(answerOf(org, 200, rateLimitHeaders(org, now)));
  });
  api.get("/events", (context) => eventStream(context, context.get("caller"), deps));
  api.route("/runs", runRoutes(deps));
  api.route("/runs", logRoutes(deps));
  api.route("/keys", keyRoutes(deps));
  api.route("/runs", artifactRoutes(deps));
  api.route("/sign-in-links", signInLinkRoutes(links));
  api.route("/", projectRoutes(deps));
  api.route("/service", handOverRoute(deps));
  app.route("/api", api);
  return app;
}
