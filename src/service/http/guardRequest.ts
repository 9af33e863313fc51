import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./appEnv.ts";
import { HttpProblem } from "./httpProblem.ts";

/** Far more than any request of the contract needs. All headers together are limited by the server (16 KiB). */
export const largestRequest = { targetLength: 4096, headers: 100, bodyBytes: 64 * 1024 } as const;

/** Turns away a request whose target or headers are out of all proportion, or that expects what isn't there. */
export const guardRequest = createMiddleware<AppEnv>(async (context, next) => {
  const { url = "", rawHeaders, headers } = context.env.incoming;
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
  await next();
});
