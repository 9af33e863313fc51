import { PipelineError } from "../../contract/errors.ts";
import type { ServiceClient } from "./client.ts";
import { AbsentEndpoint } from "./replyErrors.ts";

/** Finds the service anew after a break: this machine's own may be at another address, with another key. */
export type Reconnect = (signal: AbortSignal) => Promise<ServiceClient>;

/**
 * The service where it is now; the given client itself while it is where it was, or isn't found.
 * @throws as `reconnect`, but nothing for a service that is out of reach; the signal's reason.
 */
export async function findAgain(
  service: ServiceClient,
  reconnect: Reconnect | undefined,
  signal: AbortSignal,
): Promise<ServiceClient> {
  if (reconnect === undefined) return service;
  try {
    const found = await reconnect(signal);
    const isSame = found.baseUrl.href === service.baseUrl.href && found.apiKey === service.apiKey;
    return isSame ? service : found;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PipelineError && error.type === "out-of-reach") return service;
    throw error;
  }
}

/** What a service may have answered, or not, because it is ending or another one has taken its place. */
export function mayHaveRestarted(error: unknown): error is PipelineError {
  if (!(error instanceof PipelineError)) return false;
  return error.type === "out-of-reach" || error.type === "unauthorized" || error.type === "internal";
}

/**
 * What it means that an endpoint of ours failed, judged by what is given (contract: "What a client may ask of a reply"):
 * while `GET /api/org` answers, the service is there with a good key, and only that endpoint is of no use, however it failed.
 *
 * @returns an `AbsentEndpoint` then; else the error itself, or why the service gives nothing at all.
 * @throws the signal's reason.
 */
export async function asAbsentEndpoint(
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
