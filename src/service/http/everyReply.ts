import { createMiddleware } from "hono/factory";
import type { Clock } from "../clock.ts";
import type { AppEnv } from "./appEnv.ts";
import type { OpenReplies } from "./openReplies.ts";

/**
 * What every reply carries, whoever wrote it. A reply is data and no document: nothing in it may run, be framed or be
 * taken into another site's page. The page itself sets a policy of its own.
 */
export const standingHeaders = {
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  // With no-referrer a browser sends the page's own forms with `Origin: null`, which is not told from a stranger's.
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
} as const;

interface EveryReplyDeps {
  readonly clock: Pick<Clock, "now">;
  readonly replies: Pick<OpenReplies, "stopping">;
}

/** What every reply carries that isn't always the same, whatever its route has set. */
export function headersOfNow(status: number, { clock, replies }: EveryReplyDeps): Record<string, string> {
  // It is the clock that counts (contract: "Refusals and errors over HTTP").
  const date = httpDate(clock.now());
  if (!replies.stopping) return { date };
  // Whoever needs this service starts another one within a second.
  return { date, connection: "close", ...(status >= 500 ? { "retry-after": "1" } : {}) };
}

let lastDate = { second: Number.NaN, text: "" };

/** An instant as HTTP writes it, in whole seconds; many replies are of the same one. */
export function httpDate(instant: number): string {
  const second = Math.floor(instant / 1000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(instant).toUTCString() };
  return lastDate.text;
}

/** Puts the standing headers where a route has set none of its own, and the time by the service's clock. */
export function everyReply(deps: EveryReplyDeps) {
  return createMiddleware<AppEnv>(async (context, next) => {
    await next();
    const { headers, status } = context.res;
    for (const [name, value] of Object.entries(headersOfNow(status, deps))) headers.set(name, value);
    for (const [name, value] of Object.entries(standingHeaders)) {
      if (!headers.has(name)) headers.set(name, value);
    }
    if (context.req.method !== "HEAD") return;
    // A stream that nobody will read must not go on being fed.
    await context.res.body?.cancel();
    context.res = new Response(null, { headers, status });
  });
}
