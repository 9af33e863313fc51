import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Reply } from "./exchange.ts";
import { type Ask, labelOf } from "./service.ts";

/**
 * The value that a good reply holds.
 * @throws PipelineError `breaks-contract` that names the request and the wrong field.
 */
export function readReply<T>(ask: Ask, reply: Reply, schema: z.ZodMiniType<T>): T {
  const read = fromWire(schema, jsonOf(ask, reply));
  if (read.kind === "invalid") throw broken(ask, read.problem);
  return read.value;
}

function jsonOf(ask: Ask, reply: Reply): unknown {
  try {
    return JSON.parse(reply.body);
  } catch {
    throw broken(ask, wordsFor(reply));
  }
}

function wordsFor(reply: Reply): string {
  if (reply.body.trim() === "") return "the answer is empty";
  const isPage = reply.headers.get("content-type")?.includes("html") || /^\s*</.test(reply.body);
  return isPage ? "the answer is a web page, not JSON" : "the answer is not JSON";
}

function broken(ask: Ask, problem: string): PipelineError {
  return new PipelineError("breaks-contract", `${labelOf(ask)}: ${problem}.`);
}
