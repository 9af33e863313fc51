import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";
import type { Reply } from "./exchange.ts";
import { parseForeignJson } from "./foreignText.ts";
import { type Ask, labelOf, type Service } from "./service.ts";

/**
 * The value that a good reply holds, its texts fit to be shown.
 * @throws PipelineError `breaks-contract` that names the request and the wrong field.
 */
export function readReply<T>(service: Service, ask: Ask, reply: Reply, schema: z.ZodMiniType<T>): T {
  const read = fromWire(schema, jsonOf(service, ask, reply));
  if (read.kind === "invalid") throw broken(ask, read.problem);
  return read.value;
}

function jsonOf(service: Service, ask: Ask, reply: Reply): unknown {
  try {
    return parseForeignJson(reply.body, service.apiKey);
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
