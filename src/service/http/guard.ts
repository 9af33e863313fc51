import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { PipelineError } from "../../contract/errors.ts";
import type { AppEnv } from "./appEnv.ts";
import { HttpProblem } from "./httpProblem.ts";

/** Far more than any request of the contract needs. All headers together are limited by the server (16 KiB). */
export const largestRequest = { targetLength: 4096, headers: 100, bodyBytes: 64 * 1024 } as const;

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/** Turns away what a web page could send here, and what is out of all proportion. @throws PipelineError */
export function guard(context: Context<AppEnv>): void {
  const { incoming } = context.env;
  // Not from Node's headers, which have only the first of two.
  guardLoopback(incoming, (context.req.header("host") ?? "").toLowerCase());
  guardSize(incoming);
}

/**
 * Turns away what a web page could send here from a person's browser: a name that was rebound to this machine shows
 * in `Host`, another site's page in `Origin` or, where the browser sends none, in `Sec-Fetch-Site`. The port of `Host`
 * is not compared: a forwarded port is another one, and a page that sends one can't choose it.
 */
function guardLoopback(incoming: IncomingMessage, host: string): void {
  const { url = "", headers } = incoming;
  // A request may name its target in full, and then that is where it was sent to (RFC 9112, 3.2.2).
  const isSentHere = () => url.startsWith("/") || new URL(url).host === new URL(`http://${host}`).host;
  if (!loopbackHost.test(host) || !isSentHere()) {
    throw new PipelineError("forbidden", "This service answers only under 127.0.0.1, ::1 and localhost.", {
      next: "Use the address that the service printed.",
    });
  }
  const { origin } = headers;
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  if (isForeign || isSentByAnotherSite(incoming)) {
    throw new PipelineError("forbidden", "Requests from another site's page are not answered.", {
      next: "Use the tool or the extension.",
    });
  }
}

/**
 * Browsers say so also where they send no `Origin`, as for an image, and this machine's other ports count as another
 * site, though they are sent the same cookies. A link that a person follows is let through. A page of another site can't send `x-api-key`
 * without asking first, which is never granted, so a request with one is no page's.
 */
function isSentByAnotherSite({ headers, method }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return false;
  if (headers["x-api-key"] !== undefined) return false;
  const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  return !(isLink && (method === "GET" || method === "HEAD"));
}

/** Turns away a request whose target or headers are out of all proportion, or that expects what isn't there. */
function guardSize({ url = "", rawHeaders, headers }: IncomingMessage): void {
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
  if (rawHeaders.length / 2 > largestRequest.headers) {
    throw new HttpProblem(431, "invalid-request", {
      message: `A request has at most ${largestRequest.headers} headers.`,
      next: "Send fewer.",
    });
  }
}
