import type { Context } from "hono";
import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";

/** The request's JSON body. @throws PipelineError `invalid-request` naming the field that is wrong. */
export async function requestBody<T>(context: Context, schema: z.ZodMiniType<T>): Promise<T> {
  let body: unknown;
  try {
    body = JSON.parse(await context.req.text());
  } catch (cause) {
    // The limit on its size is told as what it is, not as bad JSON.
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError("invalid-request", "The body is not JSON.", { cause });
  }
  const parsed = fromWire(schema, body);
  if (parsed.kind === "invalid")
    throw new PipelineError("invalid-request", `The body is not valid: ${parsed.problem}.`);
  return parsed.value;
}
