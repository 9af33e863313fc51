import type { Context } from "hono";
import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";

/**
 * The request's query; of a name that comes twice, the first.
 * @param numbers the names whose text is a number.
 * @throws PipelineError `invalid-request` naming what is wrong.
 */
export function requestQuery<T>(context: Context, schema: z.ZodMiniType<T>, numbers: readonly string[]): T {
  const query = Object.entries(context.req.query()).map(([name, text]) => [
    name,
    numbers.includes(name) && /^\d{1,15}$/.test(text) ? Number(text) : text,
  ]);
  const parsed = fromWire(schema, Object.fromEntries(query));
  if (parsed.kind === "valid") return parsed.value;
  throw new PipelineError("invalid-request", `The query is not valid: ${parsed.problem}.`);
}
