import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorType, errorTypes, PipelineError } from "../../contract/errors.ts";
import { secondsToReset } from "../../contract/limits.ts";
import type { Org } from "../../contract/org.ts";
import { type Refusal, refusalMessage } from "../../contract/refusal.ts";
import { toWire } from "../../contract/wire.ts";
import { hideSecrets } from "../../machine/apiSecret.ts";

type Headers = Readonly<Record<string, string>>;

/** A value of the contract, as JSON. */
export function reply(value: unknown, status: ContentfulStatusCode = 200, headers: Headers = {}): Response {
  return jsonResponse(JSON.stringify(toWire(value)), status, headers);
}

function jsonResponse(text: string, status: ContentfulStatusCode, headers: Headers): Response {
  return new Response(text, { status, headers: { ...headers, "content-type": "application/json" } });
}

/**
 * A refused start: 429 in either scope. Scope `free-day` has `Retry-After`, the seconds to 00:00 UTC; nobody knows when a
 * slot comes free, so scope `org` has none, and a client keeps its own growing pauses.
 */
export function refusalReply(refusal: Refusal, waitedSeconds: number, headers: Headers): Response {
  const message = refusalMessage({ refusal, waitedSeconds });
  const next = nextAfter[refusal.scope];
  const retryAfter = refusal.scope === "free-day" ? { "retry-after": String(refusal.secondsToReset) } : {};
  const error = { type: "too-many-runs", message, scope: refusal.scope, next };
  return reply({ error }, 429, { ...headers, ...retryAfter });
}

const nextAfter = {
  org: "Wait for the slot with `Prefer: wait=<seconds>`, or cancel the run that holds it.",
  "free-day": "Start it again once the count has started again.",
} as const satisfies Record<Refusal["scope"], string>;

/** The reply to any other error. One that isn't a PipelineError reveals nothing of the service's inside. */
export function errorReply(thrown: unknown): Response {
  const error =
    thrown instanceof PipelineError
      ? thrown
      : new PipelineError("internal", "The service failed at this request.");
  return jsonResponse(errorText(error), statusOf(error), {
    ...(error.type === "unauthorized" ? { "www-authenticate": challenge } : {}),
    ...(error instanceof HttpProblem ? error.headers : {}),
  });
}

/** The JSON text of an error. A key that a caller put into the wrong place is not repeated. */
export function errorText({ type, message, next }: PipelineError): string {
  return hideSecrets(JSON.stringify(toWire({ error: { type, message, next } })));
}

export function statusOf(error: PipelineError): ContentfulStatusCode {
  return error instanceof HttpProblem ? error.status : (errorTypes[error.type].httpStatus ?? 500);
}

/** No registered scheme fits a key in a header of its own; this one names the header, and no browser asks for a password. */
const challenge = 'ApiKey realm="pipeline-runs", header="x-api-key"';

/** A fault of the HTTP itself, with a status that is more specific than its type's in the contract. */
export class HttpProblem extends PipelineError {
  readonly status: ContentfulStatusCode;
  readonly headers: Headers;

  constructor(
    status: ContentfulStatusCode,
    type: ErrorType,
    { message, next, headers = {} }: Pick<PipelineError, "message" | "next"> & { readonly headers?: Headers },
  ) {
    super(type, message, { next });
    this.status = status;
    this.headers = headers;
  }
}

/** A request that another service, or the same one in a moment, can answer: 503 with `Retry-After`. */
export function unavailable(message: string): HttpProblem {
  return new HttpProblem(503, "internal", {
    message,
    next: "Try again in a moment.",
    headers: { "retry-after": "1" },
  });
}

const daySeconds = 86_400;

/**
 * The day's runs as `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, from its revision 8 on), under
 * the name of the scope that a refusal has: how many there are, how many are left, and the seconds to 00:00 UTC.
 *
 * @param now the instant that the org was read at.
 */
export function rateLimitHeaders(
  { limits, usage }: Pick<Org, "limits" | "usage">,
  now: number,
): Record<"ratelimit-policy" | "ratelimit", string> {
  const left = Math.max(0, limits.runsPerDay - usage.runsToday);
  return {
    "ratelimit-policy": `"free-day";q=${limits.runsPerDay};w=${daySeconds}`,
    ratelimit: `"free-day";r=${left};t=${secondsToReset(now)}`,
  };
}
