import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type Answer, answerOf } from "./answer.ts";

/** A value of the contract as the JSON of the wire. */
export function reply(context: Context, value: unknown, status: ContentfulStatusCode = 200): Response {
  return send(context, answerOf(value, status));
}

/** An answer as the response of a route. */
export function send(context: Context, { status, headers, text }: Answer): Response {
  return context.body(text, status, { ...headers, "content-type": "application/json" });
}
