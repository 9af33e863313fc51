import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { PipelineError } from "../../contract/errors.ts";
import { readOrg } from "../store/orgs.ts";
import type { AppDeps } from "./appDeps.ts";
import { authenticate, type SignedIn } from "./authenticate.ts";
import { eventStream } from "./eventStream.ts";
import { guardLoopback } from "./guard.ts";
import { logRoutes } from "./logRoutes.ts";
import { projectRoutes } from "./projectRoutes.ts";
import { reply, replyError } from "./reply.ts";
import { runRoutes } from "./runRoutes.ts";

const largestBody = 64 * 1024;

/** The service's HTTP face (contract: "Endpoints"). */
export function createApp(deps: AppDeps): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.use(async (context, next) => {
    await next();
    // The service's clock is the one that counts (contract: "Refusals and errors over HTTP").
    context.header("date", new Date(deps.clock.now()).toUTCString());
    context.header("x-content-type-options", "nosniff");
  });
  app.use(guardLoopback);
  app.use(
    bodyLimit({
      maxSize: largestBody,
      onError: () => {
        throw new PipelineError("payload-too-large", `A request's body has at most ${largestBody} bytes.`);
      },
    }),
  );
  app.onError((error, context) => {
    if (!(error instanceof PipelineError)) {
      deps.log("error", "request failed", { method: context.req.method, path: context.req.path, error });
    }
    return replyError(context, error);
  });
  app.notFound((context) =>
    replyError(
      context,
      new PipelineError("not-found", `There is no ${context.req.method} ${context.req.path} here.`),
    ),
  );

  app.get("/healthz", (context) => reply(context, { ok: true, instance: deps.instance }));

  const api = new Hono<SignedIn>();
  api.use(authenticate(deps.db));
  api.get("/org", async (context) =>
    reply(context, await readOrg(deps.db, context.get("caller"), deps.clock.now())),
  );
  api.get("/events", (context) => eventStream(context, context.get("caller"), deps));
  api.route("/runs", runRoutes(deps));
  api.route("/runs", logRoutes(deps));
  api.route("/", projectRoutes(deps));
  app.route("/api", api);
  return app;
}
