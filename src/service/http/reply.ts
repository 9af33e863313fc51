import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { errorTypes, PipelineError } from "../../contract/errors.ts";
import { type Refusal, refusalMessage } from "../../contract/refusal.ts";
import { toWire } from "../../contract/wire.ts";
import { hideSecrets } from "../apiSecret.ts";
import { HttpProblem } from "./httpProblem.ts";

/** A value of the contract as the JSON of the wire. */
export function reply(context: Context, value: unknown, status: ContentfulStatusCode = 200): Response {
  return context.body(JSON.stringify(toWire(value)), status, { "content-type": "application/json" });
}

/**
 * A refused start: 429 in either scope, and for `free-day` the seconds to 00:00 UTC in `Retry-After`. Nobody knows when
 * a place comes free, so scope `org` names no time, and a client keeps its own growing pauses.
 */
export function replyRefusal(context: Context, refusal: Refusal, waitedSeconds: number): Response {
  if (refusal.scope === "free-day") context.header("retry-after", String(refusal.secondsToReset));
  const message = refusalMessage({ refusal, waitedSeconds });
  const next = nextAfter[refusal.scope];
  return reply(context, { error: { type: "too-many-runs", message, scope: refusal.scope, next } }, 429);
}

const nextAfter = {
  org: "Wait for the place with `Prefer: wait=<seconds>`, or cancel the run that holds it.",
  "free-day": "Start it again once the count has started again.",
} as const satisfies Record<Refusal["scope"], string>;

/** Any other error; what isn't one of ours says nothing of the inside. */
export function replyError(context: Context, thrown: unknown): Response {
  const error = asPipelineError(thrown);
  if (error.type === "unauthorized") context.header("www-authenticate", challenge);
  const headers = error instanceof HttpProblem ? error.headers : {};
  for (const [name, value] of Object.entries(headers)) context.header(name, value);
  return context.body(errorText(error), statusOf(error), { "content-type": "application/json" });
}

/** The JSON text of an error on the wire. What a caller put into the wrong place is not repeated when it is a key. */
export function errorText({ type, message, next }: PipelineError): string {
  return hideSecrets(JSON.stringify(toWire({ error: { type, message, next } })));
}

export function asPipelineError(thrown: unknown): PipelineError {
  return thrown instanceof PipelineError
    ? thrown
    : new PipelineError("internal", "The service failed at this request.");
}

export function statusOf(error: PipelineError): ContentfulStatusCode {
  return error instanceof HttpProblem ? error.status : (errorTypes[error.type].httpStatus ?? 500);
}

/** No registered scheme fits a key in a header of its own; this one names the header, and no browser asks for a password. */
const challenge = 'ApiKey realm="pipeline-runs", header="x-api-key"';
