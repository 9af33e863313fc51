import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { PipelineError } from "../../contract/errors.ts";
import { pageRoutes } from "../page/pageRoutes.ts";
import { signInLinkRoutes } from "../page/signInLinkRoutes.ts";
import { SignInLinks } from "../page/signInLinks.ts";
import { PipelineFiles } from "../pipelineFiles.ts";
import { readOrg } from "../store/orgs.ts";
import { allowedMethods } from "./allowedMethods.ts";
import type { AppDeps } from "./appDeps.ts";
import type { AppEnv } from "./appEnv.ts";
import { artifactRoutes } from "./artifactRoutes.ts";
import { authenticate, type SignedIn } from "./authenticate.ts";
import { eventStream } from "./eventStream.ts";
import { everyReply } from "./everyReply.ts";
import { guardLoopback } from "./guard.ts";
import { guardSize } from "./guardSize.ts";
import { handOverRoute } from "./handOverRoute.ts";
import { HttpProblem } from "./httpProblem.ts";
import { keyRoutes } from "./keyRoutes.ts";
import { logRoutes } from "./logRoutes.ts";
import { projectRoutes } from "./projectRoutes.ts";
import { setRateLimit } from "./rateLimit.ts";
import { reply, replyError } from "./reply.ts";
import { requestLog, routeOf } from "./requestLog.ts";
import { runRoutes } from "./runRoutes.ts";

const largestBody = 64 * 1024;

/** The service's HTTP face (contract: "Endpoints"). Each of its routes stands in `openApi/endpoints.ts` too. */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(requestLog(deps));
  app.use(everyReply(deps));
  app.use(guardLoopback);
  app.use(guardSize);
  app.use(
    bodyLimit({
      maxSize: largestBody,
      onError: () => {
        throw new PipelineError("payload-too-large", `A request's body has at most ${largestBody} bytes.`);
      },
    }),
  );
  app.onError((error, context) => {
    if (!(error instanceof PipelineError) || error.type === "internal") {
      const { method } = context.req;
      const requestId = context.get("requestId");
      // A caller who leaves before its body is read is no fault of the service.
      const level = context.env.outgoing.destroyed ? "debug" : "error";
      deps.log(level, "request failed", { requestId, method, route: routeOf(context), error });
    }
    return replyError(context, error);
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

  app.get("/healthz", (context) => {
    const { instance, life } = deps;
    if (life.isEnding()) {
      throw new HttpProblem(503, "internal", {
        message: "This service is about to end.",
        next: "Look for the one that comes after it.",
      });
    }
    return reply(context, { ok: true, instance, version: life.version });
  });
  app.get("/openapi.json", async (context) => {
    const { openApiDocument } = await import("../openApi/document.ts");
    return context.json(openApiDocument());
  });

  const links = new SignInLinks(deps.clock);
  const { pageFolder } = deps;
  if (pageFolder !== undefined) app.route("/app", pageRoutes({ ...deps, pageFolder }, links));

  const pipelines = new PipelineFiles();
  const api = new Hono<SignedIn>();
  api.use(authenticate(deps.db));
  api.get("/org", async (context) => {
    const now = deps.clock.now();
    const org = await readOrg(deps.db, context.get("caller"), now);
    setRateLimit(context, org, now);
    return reply(context, org);
  });
  api.get("/events", (context) => eventStream(context, context.get("caller"), deps));
  api.route("/runs", runRoutes({ ...deps, pipelines }));
  api.route("/runs", logRoutes(deps));
  api.route("/keys", keyRoutes(deps));
  api.route("/runs", artifactRoutes(deps));
  api.route("/sign-in-links", signInLinkRoutes(links));
  api.route("/", projectRoutes({ ...deps, pipelines }));
  api.route("/service", handOverRoute(deps));
  app.route("/api", api);
  return app;
}
