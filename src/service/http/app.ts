import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { PipelineError } from "../../contract/errors.ts";
import type { Clock } from "../clock.ts";
import type { Changes } from "../events.ts";
import type { Log } from "../log.ts";
import type { Places } from "../places.ts";
import type { RunsInWork } from "../runsInWork.ts";
import { readOrg } from "../store/orgs.ts";
import type { Database } from "../store/tables.ts";
import { authenticate, type SignedIn } from "./authenticate.ts";
import { eventStream } from "./eventStream.ts";
import { guardLoopback } from "./guard.ts";
import { projectRoutes } from "./projectRoutes.ts";
import { reply, replyError } from "./reply.ts";
import { runRoutes } from "./runRoutes.ts";

export interface AppDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly places: Places;
  readonly runs: RunsInWork;
  readonly changes: Changes;
  readonly log: Log;
  /** Tells this start of the service from every other; see the connection file. */
  readonly instance: string;
}

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
  api.route("/", projectRoutes(deps));
  app.route("/api", api);
  return app;
}
