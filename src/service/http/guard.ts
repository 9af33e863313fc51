import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";
import type { AppEnv } from "./appEnv.ts";

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/**
 * Turns away what a web page could send here from a person's browser: a name that was rebound to this machine shows
 * in `Host`, another site's page in `Origin` or, where the browser sends none, in `Sec-Fetch-Site`. The port of `Host`
 * is not compared: a forwarded port is another one, and a page that sends one can't choose it.
 */
export const guardLoopback = createMiddleware<AppEnv>(async (context, next) => {
  const host = (context.req.header("host") ?? "").toLowerCase();
  // A request may name its target in full, and then that is where it was sent to (RFC 9112, 3.2.2).
  if (!loopbackHost.test(host) || new URL(context.req.url).host !== new URL(`http://${host}`).host) {
    throw new PipelineError("forbidden", "This service answers only under 127.0.0.1, ::1 and localhost.", {
      next: "Use the address that the service printed.",
    });
  }
  const origin = context.req.header("origin");
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  if (isForeign || isSentByAnotherSite((name) => context.req.header(name), context.req.method)) {
    throw new PipelineError("forbidden", "Requests from another site's page are not answered.", {
      next: "Use the tool or the extension.",
    });
  }
  await next();
});

/**
 * Browsers say so also where they send no `Origin`, as for an image, and this machine's other ports count as another
 * site, though they are sent the same cookies. A link that a person follows is let through. A page of another site can't send `x-api-key`
 * without asking first, which is never granted, so a request with one is no page's.
 */
function isSentByAnotherSite(header: (name: string) => string | undefined, method: string): boolean {
  const site = header("sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return false;
  if (header("x-api-key") !== undefined) return false;
  const isLink = header("sec-fetch-mode") === "navigate" && header("sec-fetch-dest") === "document";
  return !(isLink && (method === "GET" || method === "HEAD"));
}
