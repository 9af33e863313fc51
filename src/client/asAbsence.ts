import { PipelineError } from "../contract/errors.ts";
import { AbsentEndpoint } from "./http/replyError.ts";
import type { ServiceClient } from "./http/serviceClient.ts";

/**
 * What it means that an endpoint of ours failed, judged by what is given (contract: "What a client may ask of a reply"):
 * while `GET /api/org` answers, the service is there with a good key, and only that endpoint is of no use, however it failed.
 *
 * @returns an `AbsentEndpoint` then; else the error itself, or why the service gives nothing at all.
 * @throws the signal's reason.
 */
export async function asAbsence(
  client: ServiceClient,
  error: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof PipelineError) || error instanceof AbsentEndpoint) return error;
  try {
    await client.withoutRetries().org(signal);
  } catch (given) {
    signal.throwIfAborted();
    return given instanceof PipelineError && given.type === "unauthorized" ? given : error;
  }
  return new AbsentEndpoint(error.message, error);
}
