import { randomUUID } from "node:crypto";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { Log, LogLevel } from "../log.ts";
import type { AppEnv } from "./appEnv.ts";
import { guard } from "./guard.ts";
import type { OpenReplies } from "./openReplies.ts";

/** A caller's own id is taken only when nothing in it can be mistaken for anything else in a log. */
const safeId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * What every request passes: it is given an id, which its reply carries as `x-request-id`; its reply is open from here on,
 * and when it has ended, the log has one line of it, with the route's pattern, never the path or the query, which may hold
 * anything; and the guards look at it.
 */
export function everyRequest({ log, replies }: { readonly log: Log; readonly replies: OpenReplies }) {
  return createMiddleware<AppEnv>(async (context, next) => {
    const { incoming, outgoing } = context.env;
    const began = performance.now();
    const askedId = incoming.headers["x-request-id"];
    const requestId = typeof askedId === "string" && safeId.test(askedId) ? askedId : randomUUID();
    const open = replies.add(outgoing, () => {
      const route = routeOf(context);
      log(levelOf(route, outgoing.statusCode), "request", {
        requestId,
        method: context.req.method,
        route,
        status: outgoing.headersSent ? outgoing.statusCode : undefined,
        milliseconds: Math.round(performance.now() - began),
        keyId: open.keyId,
        ...(outgoing.writableFinished ? {} : { callerLeft: true }),
      });
    });
    context.set("requestId", requestId);
    context.set("open", open);
    outgoing.setHeader("x-request-id", requestId);
    guard(context);
    await next();
    // A stream that nobody will read must not go on being fed.
    if (context.req.method === "HEAD") await context.res.body?.cancel();
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
