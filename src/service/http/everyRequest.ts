import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import { PipelineError } from "../../contract/errors.ts";
import type { Log, LogLevel } from "../../machine/log.ts";
import type { OpenReplies, OpenReply } from "./openReplies.ts";
import { HttpProblem } from "./reply.ts";

/** The context of every route. */
export interface AppEnv {
  Bindings: HttpBindings;
  Variables: {
    /** Identifies this request in the log and to its caller. */
    readonly requestId: string;
    readonly open: OpenReply;
  };
}

/** A caller's own id is used only when it is harmless in a log. */
const safeId = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export interface EveryRequestDeps {
  readonly log: Log;
  readonly replies: OpenReplies;
  /** Whether the service answers under other host names than loopback's, as a service for many machines does. */
  readonly isOnNetwork?: boolean;
}

/**
 * The middleware of every request: gives it an id, which the reply has as `x-request-id`; tracks its open reply; guards the
 * service; and logs one line at its end, with the route's pattern, since the path and the query may hold anything.
 */
export function everyRequest({ log, replies, isOnNetwork = false }: EveryRequestDeps) {
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
    guard(context, isOnNetwork);
    await next();
    // Nobody reads the body of a reply to HEAD, so its stream must end.
    if (context.req.method === "HEAD") await context.res.body?.cancel();
  });
}

/** The pattern of the route that answered, as it is in the code. */
function routeOf(context: Context): string {
  return matchedRoutes(context).findLast(({ method }) => method !== "ALL")?.path ?? "none";
}

/** The paths that monitoring requests every second. */
const monitoringPaths: ReadonlySet<string> = new Set(["/healthz", "/metrics", "/readyz"]);

/** Checks are of no interest in a log, not even a 503 from a server that isn't ready. */
function levelOf(route: string, status: number): LogLevel {
  if (monitoringPaths.has(route) && (status < 400 || status === 503)) return "debug";
  return status >= 500 ? "error" : "info";
}

/** Far more than any request of the contract needs. `connectionLimits` limits all headers together. */
export const largestRequest = { targetLength: 4096, headers: 100, bodyBytes: 64 * 1024 } as const;

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/** @throws PipelineError for a request that a web page could have sent, or that is far too large. */
function guard(context: Context<AppEnv>, isOnNetwork: boolean): void {
  const { incoming } = context.env;
  // hono joins several `Host` headers; Node's `headers` would keep only the first.
  const host = (context.req.header("host") ?? "").toLowerCase();
  if (!isOnNetwork) guardLoopback(incoming, host);
  guardOrigin(incoming, isOnNetwork ? [`http://${host}`, `https://${host}`] : [`http://${host}`]);
  guardTarget(incoming);
}

/**
 * Turns away a host name that was rebound to this machine. The port in `Host` isn't compared: a forwarded port differs,
 * and a web page can't choose the port that its browser sends.
 */
function guardLoopback({ url = "" }: IncomingMessage, host: string): void {
  // The target may be an absolute URL, whose host then counts instead of `Host` (RFC 9112, 3.2.2).
  const isSentHere = () => url.startsWith("/") || new URL(url).host === new URL(`http://${host}`).host;
  if (!loopbackHost.test(host) || !isSentHere()) {
    throw new PipelineError("forbidden", "This service answers only under 127.0.0.1, ::1 and localhost.", {
      next: "Use the address that the service printed.",
    });
  }
}

/**
 * Turns away requests that another site's page makes in a person's browser. `Sec-Fetch-Site` is the best evidence: `Origin` is
 * compared with `Host`, which proxies may change. Behind a load balancer that terminates TLS, the page's own origin is `https`.
 */
function guardOrigin(incoming: IncomingMessage, own: readonly string[]): void {
  const { origin, "sec-fetch-site": site } = incoming.headers;
  if (site === "same-origin") return;
  const isForeign = origin !== undefined && !own.includes(origin);
  if (isForeign || isSentByAnotherSite(incoming)) {
    throw new PipelineError("forbidden", "Requests from another site's page are not answered.", {
      next: "Use the tool or the extension.",
    });
  }
}

/**
 * Browsers send `Sec-Fetch-Site` even without `Origin`, as for an image. Pages on this machine's other ports, `same-site`,
 * are turned away too: they are sent the same cookies. A link that a person follows is let through. Another site's page can't
 * send `x-api-key` without a preflight, which is never granted, so a request with that header isn't a page's.
 */
function isSentByAnotherSite({ headers, method }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "none") return false;
  if (headers["x-api-key"] !== undefined) return false;
  const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  return !(isLink && (method === "GET" || method === "HEAD"));
}

/** @throws HttpProblem for a target or headers that are far too large, and for `Expect`. */
function guardTarget({ url = "", rawHeaders, headers }: IncomingMessage): void {
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue") {
    throw new HttpProblem(417, "invalid-request", {
      message: "The request expects what this service doesn't do.",
      next: "Send it without the header Expect.",
    });
  }
  if (url.length > largestRequest.targetLength) {
    throw new HttpProblem(414, "invalid-request", {
      message: `A request's path and query have at most ${largestRequest.targetLength} characters.`,
      next: "Ask with a shorter one.",
    });
  }
  // No name here contains NUL, and PostgreSQL accepts none.
  if (url.includes("%00")) {
    throw new PipelineError("invalid-request", "A NUL character is in the request's path or query.", {
      next: "Ask without %00.",
    });
  }
  if (rawHeaders.length / 2 > largestRequest.headers) {
    throw new HttpProblem(431, "invalid-request", {
      message: `A request has at most ${largestRequest.headers} headers.`,
      next: "Send fewer.",
    });
  }
}

/** Logs an error of the service itself; a caller's mistake is only replied. */
export function logFailure<Env extends AppEnv>(log: Log, error: unknown, context: Context<Env>): void {
  if (error instanceof PipelineError && error.type !== "internal") return;
  const { requestId } = context.var;
  const { method } = context.req;
  const route = routeOf(context);
  // Expected: a caller that left before its body was read, and the frequent checks of a server that isn't ready.
  const isCheck = monitoringPaths.has(route) && error instanceof HttpProblem && error.status === 503;
  const isNone = context.env.outgoing.destroyed || isCheck;
  log(isNone ? "debug" : "error", "request failed", { requestId, method, route, error });
}
