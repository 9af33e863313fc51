import { randomUUID } from "node:crypto";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { Log, LogLevel } from "../log.ts";
import type { AppEnv } from "./appEnv.ts";
import type { OpenReplies } from "./openReplies.ts";

/** A caller's own id is taken only when nothing in it can be mistaken for anything else in a log. */
const safeId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Gives each request an id, which its reply carries as `x-request-id`, and writes one line when its reply has ended: the
 * route's pattern, never the path or the query, which may hold anything.
 */
export function requestLog({ log, replies }: { readonly log: Log; readonly replies: OpenReplies }) {
  return createMiddleware<AppEnv>(async (context, next) => {
    const began = performance.now();
    const { outgoing } = context.env;
    const asked = context.req.header("x-request-id") ?? "";
    const requestId = safeId.test(asked) ? asked : randomUUID();
    const open = replies.add(outgoing);
    context.set("requestId", requestId);
    context.set("open", open);
    outgoing.once("close", () => {
      const { method } = context.req;
      const route = routeOf(context);
      log(levelOf(route, outgoing.statusCode), "request", {
        requestId,
        method,
        route,
        status: outgoing.headersSent ? outgoing.statusCode : undefined,
        milliseconds: Math.round(performance.now() - began),
        keyId: open.keyId,
        ...(outgoing.writableFinished ? {} : { callerLeft: true }),
      });
    });
    await next();
    const { headers } = context.res;
    headers.set("x-request-id", requestId);
    open.sends(headers.get("content-type"));
  });
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
