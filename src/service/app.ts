import { Hono, type HonoRequest } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { PipelineError } from "../contract/errors.ts";
import type { AppDeps } from "./http/appDeps.ts";
import { artifactRoutes } from "./http/artifactRoutes.ts";
import { authenticate } from "./http/authenticate.ts";
import { Endpoints } from "./http/endpoints.ts";
import { type AppEnv, everyRequest, logFailure } from "./http/everyRequest.ts";
import { keyRoutes } from "./http/keyRoutes.ts";
import { logRoutes } from "./http/logRoutes.ts";
import { orgRoutes } from "./http/orgRoutes.ts";
import { projectRoutes } from "./http/projectRoutes.ts";
import { errorReply, HttpProblem } from "./http/reply.ts";
import { runRoutes } from "./http/runRoutes.ts";
import { serviceRoutes } from "./http/serviceRoutes.ts";
import { startRoute } from "./http/startRoute.ts";
import { startPath } from "./page/pageRequest.ts";
import { pageRoutes } from "./page/pageRoutes.ts";
import { signInLinkRoute } from "./page/signInRoutes.ts";

/** The routes of the service (contract: "Endpoints"). */
export function createApp(deps: AppDeps): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.use(everyRequest(deps));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: ({ req }, methods) => errorReply(wrongMethod(req, methods)),
    }),
  );
  app.onError((error, context) => {
    logFailure(deps.log, error, context);
    return errorReply(deps.added?.problemOf(error) ?? error);
  });
  // Not thrown: hono then looks for other methods of the path.
  app.notFound(({ req: { method, path } }) => {
    const error = new PipelineError("not-found", `There is no ${method} ${path.slice(0, 200)} here.`, {
      next: "GET /openapi.json lists what there is.",
    });
    return errorReply(deps.added?.problemOf(error) ?? error);
  });

  const { pageFolder } = deps;
  if (pageFolder !== undefined) {
    app.get("/", (context) => context.redirect(startPath, 303));
    app.route("/app", pageRoutes({ ...deps, pageFolder }));
  }

  const endpoints = new Endpoints(deps.machine?.keyId);
  endpoints.routes.use("/api/*", authenticate(deps.db));
  serviceRoutes(endpoints, deps);
  orgRoutes(endpoints, deps);
  startRoute(endpoints, deps);
  runRoutes(endpoints, deps);
  logRoutes(endpoints, deps);
  artifactRoutes(endpoints, deps);
  projectRoutes(endpoints, deps);
  deps.added?.addRoutes(endpoints);
  keyRoutes(endpoints, deps);
  signInLinkRoute(endpoints, deps);
  app.route("/", endpoints.routes);
  return app;
}

function wrongMethod({ method, path }: HonoRequest, methods: readonly string[]): HttpProblem {
  const allow = methods.toSorted().join(", ");
  return new HttpProblem(405, "invalid-request", {
    message: `${path.slice(0, 200)} is not there for ${method}.`,
    next: `It is for ${allow}.`,
    headers: { allow },
  });
}
