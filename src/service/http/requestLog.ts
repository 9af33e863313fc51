import { randomUUID } from "node:crypto";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { Log, LogLevel } from "../log.ts";
import type { AppEnv } from "./appEnv.ts";
import type { OpenReplies, OpenReply } from "./openReplies.ts";

/** A caller's own id is taken only when nothing in it can be mistaken for anything else in a log. */
const safeId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Gives each request an id, which its reply carries as `x-request-id`, and writes one line when its reply has ended: the
 * route's pattern, never the path or the query, which may hold anything.
 */
export function requestLog(deps: RequestLogDeps) {
  return createMiddleware<AppEnv>(async (context, next) => {
    const { requestId, open } = beginRequest(
      {
        outgoing: context.env.outgoing,
        askedId: context.req.header("x-request-id"),
        method: context.req.method,
        route: () => routeOf(context),
      },
      deps,
    );
    context.set("requestId", requestId);
    context.set("open", open);
    await next();
    const { headers } = context.res;
    headers.set("x-request-id", requestId);
    open.sends(headers.get("content-type"));
  });
}

interface RequestLogDeps {
  readonly log: Log;
  readonly replies: OpenReplies;
}

interface BegunRequest {
  readonly outgoing: OpenReply["outgoing"];
  /** The id that the caller would like it to have. */
  readonly askedId: string | undefined;
  readonly method: string;
  /** Asked when the reply has ended. */
  readonly route: () => string;
}

/** From here on the request's reply is open, and has its line in the log when it ends. */
export function beginRequest(
  { outgoing, askedId = "", method, route }: BegunRequest,
  { log, replies }: RequestLogDeps,
): { readonly requestId: string; readonly open: OpenReply } {
  const began = performance.now();
  const requestId = safeId.test(askedId) ? askedId : randomUUID();
  const open = replies.add(outgoing);
  outgoing.once("close", () => {
    const pattern = route();
    log(levelOf(pattern, outgoing.statusCode), "request", {
      requestId,
      method,
      route: pattern,
      status: outgoing.headersSent ? outgoing.statusCode : undefined,
      milliseconds: Math.round(performance.now() - began),
      keyId: open.keyId,
      ...(outgoing.writableFinished ? {} : { callerLeft: true }),
    });
  });
  return { requestId, open };
}

/** The pattern of the route that answered, as it is in the code. */
export function routeOf(context: Context): string {
  return matchedRoutes(context).findLast(({ method }) => method !== "ALL")?.path ?? "none";
}

/** That the service is asked whether it lives says nothing to a reader. */
function levelOf(route: string, status: number): LogLevel {
  if (status >= 500) return "error";
  return route === "/healthz" && status < 400 ? "debug" : "info";
}
