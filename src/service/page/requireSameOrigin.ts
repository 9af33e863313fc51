import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";

/**
 * Refuses what changes something unless the page itself has sent it. `SameSite` alone would let any other program's
 * page on this machine through: to a browser, all ports of 127.0.0.1 are one site.
 */
export const requireSameOrigin = createMiddleware(async (context, next) => {
  const { method } = context.req;
  if (method === "GET" || method === "HEAD") return next();
  const own = new URL(context.req.url).origin;
  const site = context.req.header("sec-fetch-site");
  if (context.req.header("origin") !== own || (site !== undefined && site !== "same-origin")) {
    throw new PipelineError("forbidden", "This request did not come from the page itself.", {
      next: "Open the page and press the button there.",
    });
  }
  return next();
});
