import { createMiddleware } from "hono/factory";
import { PipelineError } from "../../contract/errors.ts";

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Turns away what a web page could send here from a person's browser: a name that was rebound to this machine shows
 * in `Host`, another site's page in `Origin`.
 */
export const guardLoopback = createMiddleware(async (context, next) => {
  const host = context.req.header("host") ?? "";
  if (!loopbackHost.test(host)) {
    throw new PipelineError("forbidden", "This service answers only under 127.0.0.1, ::1 and localhost.", {
      next: "Use the address that the service printed.",
    });
  }
  const origin = context.req.header("origin");
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new PipelineError("forbidden", "Requests from another site's page are not answered.", {
      next: "Use the tool or the extension.",
    });
  }
  await next();
});
