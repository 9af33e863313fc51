import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { errorTypes, PipelineError } from "../../contract/errors.ts";
import { type Refusal, refusalMessage } from "../../contract/refusal.ts";
import { toWire } from "../../contract/wire.ts";

/** A value of the contract as the JSON of the wire. */
export function reply(context: Context, value: unknown, status: ContentfulStatusCode = 200): Response {
  return context.body(JSON.stringify(toWire(value)), status, { "content-type": "application/json" });
}

/** A refused start: 429 in either scope, and for `free-day` the seconds to 00:00 UTC in `Retry-After`. */
export function replyRefusal(context: Context, refusal: Refusal, waitedSeconds: number): Response {
  context.header("cache-control", "no-store");
  if (refusal.scope === "free-day") context.header("retry-after", String(refusal.secondsToReset));
  const message = refusalMessage({ refusal, waitedSeconds });
  return reply(context, { error: { type: "too-many-runs", message, scope: refusal.scope } }, 429);
}

/** Any other error; what isn't one of ours says nothing of the inside. */
export function replyError(context: Context, thrown: unknown): Response {
  const error =
    thrown instanceof PipelineError
      ? thrown
      : new PipelineError("internal", "The service failed at this request.");
  context.header("cache-control", "no-store");
  const { httpStatus = 500 } = errorTypes[error.type];
  const { type, message, next } = error;
  return reply(context, { error: { type, message, next } }, httpStatus);
}
