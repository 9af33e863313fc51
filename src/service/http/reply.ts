import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type Answer, answerOf } from "./answer.ts";

/** A value of the contract as the JSON of the wire. */
export function reply(value: unknown, status: ContentfulStatusCode = 200): Response {
  return send(answerOf(value, status));
}

/** An answer as the response of a route. */
export function send({ status, headers, text }: Answer): Response {
  return new Response(text, { status, headers: { ...headers, "content-type": "application/json" } });
}
