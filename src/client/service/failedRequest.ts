import { PipelineError } from "../../contract/errors.ts";
import { ServiceStopped } from "../../machine/connectionFile.ts";
import type { ServiceClient } from "./client.ts";
import { AbsentEndpoint } from "./replyErrors.ts";

/** Finds the service again after a failure: the embedded one may have a new address. */
export type Reconnect = (signal: AbortSignal) => Promise<ServiceClient>;

/**
 * The service at its current address; the given client if the service hasn't moved or can't be reached.
 * @throws as `reconnect` for any error that {@link mayComeBack} doesn't forgive; the signal's reason.
 */
export async function findAgain(
  service: ServiceClient,
  reconnect: Reconnect | undefined,
  signal: AbortSignal,
): Promise<ServiceClient> {
  if (reconnect === undefined) return service;
  try {
    const found = await reconnect(signal);
    return isSameService(service, found) ? service : found;
  } catch (error) {
    signal.throwIfAborted();
    if (mayComeBack(error)) return service;
    throw error;
  }
}

/** Whether two clients use one service with the same key; this machine's own has a new key each time it starts. */
export function isSameService(one: ServiceClient, other: ServiceClient | undefined): boolean {
  return one.baseUrl.href === other?.baseUrl.href && one.apiKey === other.apiKey;
}

/** Whether a service that couldn't be found may come back. One that a person has stopped stays away. */
export function mayComeBack(error: unknown): boolean {
  return (
    error instanceof PipelineError && error.type === "out-of-reach" && !(error instanceof ServiceStopped)
  );
}

/** Whether a failure may come from a service that is stopping or was replaced. */
export function mayHaveRestarted(error: unknown): error is PipelineError {
  if (!(error instanceof PipelineError)) return false;
  return error.type === "out-of-reach" || error.type === "internal";
}

/**
 * Checks the failure of an endpoint that only our service has against a described endpoint (contract: "What a client may ask of a
 * reply"): while `GET /api/org` replies, the service is up, the key is good, and only the failed endpoint is unusable.
 *
 * @returns an `AbsentEndpoint` in that case; otherwise the error itself, or the described endpoint's `unauthorized`.
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
  } catch (described) {
    signal.throwIfAborted();
    return described instanceof PipelineError && described.type === "unauthorized" ? described : error;
  }
  return new AbsentEndpoint(error.message, error);
}
