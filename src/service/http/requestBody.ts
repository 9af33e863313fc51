import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";
import { largestRequest } from "./guardRequest.ts";

/** The request's JSON body. @throws PipelineError `invalid-request` naming the field that is wrong. */
export async function requestBody<T>(context: Context, schema: z.ZodMiniType<T>): Promise<T> {
  return parseBody(await bodyText(context), schema);
}

const limitBody = bodyLimit({
  maxSize: largestRequest.bodyBytes,
  onError: () => {
    throw new PipelineError(
      "payload-too-large",
      `A request's body has at most ${largestRequest.bodyBytes} bytes.`,
    );
  },
});

/** The request's body, whatever it is; nobody else reads it. @throws PipelineError when it is too long, or doesn't come whole. */
export async function bodyText(context: Context): Promise<string> {
  try {
    await limitBody(context, async () => {});
    return await context.req.text();
  } catch (cause) {
    // The limit on its size is told as what it is, not as bad JSON.
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError("invalid-request", "The body is not JSON.", { cause });
  }
}

/** A body's text as what it should be. @throws PipelineError `invalid-request` naming the field that is wrong. */
export function parseBody<T>(text: string, schema: z.ZodMiniType<T>): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new PipelineError("invalid-request", "The body is not JSON.", { cause });
  }
  const parsed = fromWire(schema, body);
  if (parsed.kind === "invalid")
    throw new PipelineError("invalid-request", `The body is not valid: ${parsed.problem}.`);
  return parsed.value;
}
