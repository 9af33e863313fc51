import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";
import { Deadline } from "./deadline.ts";
import { foreignText, parseForeignJson } from "./foreignText.ts";
import { outOfReach } from "./reachFaults.ts";
import {
  type FetchResponse,
  labelOf,
  parseBaseUrl,
  type ResponseHeaders,
  type Service,
  type ServiceCall,
} from "./request.ts";

/** A response with its whole body. */
export interface Reply {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
}

const defaultTimeoutSeconds = 10;
const largestBodyBytes = 4 * 1024 * 1024;

/**
 * Sends one request and reads the whole reply, of any status except a redirect.
 *
 * @throws PipelineError `out-of-reach` if no whole reply came in time, `breaks-contract` for a redirect or a reply over 4 MiB,
 * unless its status is enough; the signal's reason when it aborts, which closes the connection.
 */
export async function exchange(service: Service, call: ServiceCall, signal: AbortSignal): Promise<Reply> {
  using deadline = new Deadline(service.clock, signal, call.timeoutSeconds ?? defaultTimeoutSeconds);
  const response = await send(service, call, deadline.signal, signal);
  call.onAnswering?.();
  return await readWhole(service, call, response, signal);
}

/**
 * Sends one request and returns the response with its body unread. A request with a refused key has had no effect, so it is sent
 * again if the service has a new key.
 *
 * @param signal stops the request and the reading of its body.
 * @param callers the signal whose reason is rethrown; anything else that stops the request counts as out of reach.
 * @throws as {@link exchange}.
 */
export async function send(
  service: Service,
  call: ServiceCall,
  signal: AbortSignal,
  callers: AbortSignal,
): Promise<FetchResponse> {
  const url = new URL(call.path, service.baseUrl);
  if (call.query !== undefined) url.search = call.query.toString();
  const { apiKey, fetch: request } = service;
  const headers = {
    accept: "application/json",
    "user-agent": "pipeline-runs",
    ...call.headers,
    ...(call.access === "open" ? {} : { "x-api-key": apiKey }),
    ...(call.content === undefined ? {} : { "content-type": "application/octet-stream" }),
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
  };
  const body = call.content ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  let response: FetchResponse;
  try {
    response = await request(url, {
      method: call.method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: "manual",
      cache: "no-store",
      signal,
    });
  } catch (error) {
    throw asPipelineError(service, error, callers);
  }
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    throw redirected(service, call, response.headers.get("location"));
  }
  if (response.status !== 401 || call.access === "open" || service.renewKey === undefined) return response;
  const isRenewed = await service.renewKey(apiKey, signal).catch((error: unknown) => {
    throw asPipelineError(service, error, callers);
  });
  if (!isRenewed) return response;
  await readBytes(service, response, 0, callers);
  return send(service, call, signal, callers);
}

/**
 * Redirects are never followed: one to another origin would send the key there, one within the origin may turn a POST into a GET
 * or repeat a start, and the contract has none.
 */
function redirected(service: Service, call: ServiceCall, location: string | null): PipelineError {
  const label = `${labelOf(call)}: ${service.baseUrl.host}`;
  if (location === null || !URL.canParse(location, service.baseUrl.href)) {
    return new PipelineError("breaks-contract", `${label} answered with a redirect that leads nowhere.`);
  }
  const target = new URL(location, service.baseUrl);
  const address = foreignText(`${target.protocol}//${target.host}${target.pathname}`, service.apiKey);
  const why =
    target.origin === service.baseUrl.origin ? "redirects are not followed" : "the API key is not sent there";
  return new PipelineError("breaks-contract", `${label} redirects to ${address}; ${why}.`, {
    next: afterRedirect(service, call, target),
  });
}

function afterRedirect(service: Service, call: ServiceCall, target: URL): string {
  const base = `${target.protocol}//${target.host}${target.pathname}`;
  if (!base.endsWith(`/${call.path}`)) {
    return "If that is a page to sign in at, the service needs an address that the API key alone opens.";
  }
  const url = base.slice(0, -call.path.length);
  try {
    parseBaseUrl(url);
  } catch {
    return `An address that begins with ${target.protocol} can't be the base URL.`;
  }
  return `If that is the service's new address, set ${foreignText(url, service.apiKey)} as the base URL.`;
}

/** Maps what stopped a request to a PipelineError, or to the reason of the caller's own abort. */
export function asPipelineError(service: Service, error: unknown, callers: AbortSignal): unknown {
  if (callers.aborted) return callers.reason;
  return error instanceof PipelineError ? error : outOfReach(service, error);
}

/** Reads a response's body. @throws as {@link exchange}. */
export async function readWhole(
  service: Service,
  call: ServiceCall,
  response: FetchResponse,
  callers: AbortSignal,
): Promise<Reply> {
  const bytes = await readBytes(service, response, largestBodyBytes, callers);
  // A refusal (contract: "Refusals and errors over HTTP") and a successful write don't need their body.
  if (bytes === undefined && response.status !== 429 && call.method === "GET") {
    throw new PipelineError("breaks-contract", `${labelOf(call)}: the answer is larger than 4 MiB.`);
  }
  return { status: response.status, headers: response.headers, body: new TextDecoder().decode(bytes) };
}

/** The bytes of a response's body; undefined if there are more than `most`. @throws as {@link exchange}. */
export async function readBytes(
  service: Service,
  { body }: FetchResponse,
  most: number,
  callers: AbortSignal,
  onPiece: () => void = () => {},
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body ?? []) {
      size += piece.byteLength;
      if (size > most) return undefined;
      pieces.push(piece);
      onPiece();
    }
  } catch (error) {
    throw asPipelineError(service, error, callers);
  }
  return Buffer.concat(pieces, size);
}

/**
 * The value of a successful reply, with its texts made safe to show.
 * @throws PipelineError `breaks-contract` that names the request and the wrong field.
 */
export function readReply<T>(service: Service, call: ServiceCall, reply: Reply, schema: z.ZodMiniType<T>): T {
  const read = fromWire(schema, jsonOf(service, call, reply));
  if (read.kind === "invalid") throw broken(call, read.problem);
  return read.value;
}

function jsonOf(service: Service, call: ServiceCall, reply: Reply): unknown {
  try {
    return parseForeignJson(reply.body, service.apiKey);
  } catch {
    throw broken(call, wordsFor(reply));
  }
}

function wordsFor(reply: Reply): string {
  if (reply.body.trim() === "") return "the answer is empty";
  const isPage = reply.headers.get("content-type")?.includes("html") || /^\s*</.test(reply.body);
  return isPage ? "the answer is a web page, not JSON" : "the answer is not JSON";
}

function broken(call: ServiceCall, problem: string): PipelineError {
  return new PipelineError("breaks-contract", `${labelOf(call)}: ${problem}.`);
}
