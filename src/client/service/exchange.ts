import type * as z from "zod/mini";
import { PipelineError } from "../../contract/errors.ts";
import { fromWire } from "../../contract/wire.ts";
import { parseBaseUrl } from "./baseUrl.ts";
import { Deadline } from "./deadline.ts";
import { foreignText, parseForeignJson } from "./foreignText.ts";
import { outOfReach } from "./reachFaults.ts";
import { type Answer, type AnswerHeaders, type Ask, labelOf, type Service } from "./request.ts";

/** An answer with its whole body. */
export interface Reply {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
}

const defaultTimeoutSeconds = 10;
const largestBodyBytes = 4 * 1024 * 1024;

/**
 * Sends one request and reads its whole answer, of whatever status but a redirect.
 *
 * @throws PipelineError `out-of-reach` when no whole answer came in time, `breaks-contract` for a redirect or an
 * answer larger than 4 MiB, unless its status says all; the signal's reason when it aborts, which closes the connection.
 */
export async function exchange(service: Service, ask: Ask, signal: AbortSignal): Promise<Reply> {
  using deadline = new Deadline(service.clock, signal);
  deadline.arm(ask.timeoutSeconds ?? defaultTimeoutSeconds);
  const response = await send(service, ask, deadline.signal, signal);
  ask.onAnswering?.();
  return await readWhole(service, ask, response, signal);
}

/**
 * Sends one request and returns its answer unread.
 *
 * @param signal stops the request and the reading of its body.
 * @param callers the signal whose reason is rethrown as it is; whatever else stops the request is a fault of reach.
 * @throws as {@link exchange}.
 */
export async function send(
  service: Service,
  ask: Ask,
  signal: AbortSignal,
  callers: AbortSignal,
): Promise<Answer> {
  const url = new URL(ask.path, service.baseUrl);
  if (ask.query !== undefined) url.search = ask.query.toString();
  const headers = {
    accept: "application/json",
    "user-agent": "pipeline-runs",
    ...ask.headers,
    ...(ask.access === "open" ? {} : { "x-api-key": service.apiKey }),
    ...(ask.body === undefined ? {} : { "content-type": "application/json" }),
  };
  const { fetch: request } = service;
  let response: Answer;
  try {
    response = await request(url, {
      method: ask.method,
      headers,
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
      redirect: "manual",
      cache: "no-store",
      signal,
    });
  } catch (error) {
    throw asPipelineError(service, error, callers);
  }
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    throw redirected(service, ask, response.headers.get("location"));
  }
  return response;
}

/**
 * Redirects are not followed at all: one to another origin would carry the key there, one within the origin would turn
 * a POST into a GET or start something twice, and a service of the contract has none.
 */
function redirected(service: Service, ask: Ask, location: string | null): PipelineError {
  const label = `${labelOf(ask)}: ${service.baseUrl.host}`;
  if (location === null || !URL.canParse(location, service.baseUrl.href)) {
    return new PipelineError("breaks-contract", `${label} answered with a redirect that leads nowhere.`);
  }
  const target = new URL(location, service.baseUrl);
  const address = foreignText(`${target.origin}${target.pathname}`, service.apiKey);
  const why =
    target.origin === service.baseUrl.origin ? "redirects are not followed" : "the API key is not sent there";
  return new PipelineError("breaks-contract", `${label} redirects to ${address}; ${why}.`, {
    next: afterRedirect(service, ask, target),
  });
}

function afterRedirect(service: Service, ask: Ask, target: URL): string {
  const base = `${target.origin}${target.pathname}`;
  if (!base.endsWith(`/${ask.path}`)) {
    return "If that is a page to sign in at, the service needs an address that the API key alone opens.";
  }
  const url = base.slice(0, -ask.path.length);
  try {
    parseBaseUrl(url);
  } catch {
    return `An address that begins with ${target.protocol} can't be the base URL.`;
  }
  return `If that is the service's new address, set ${foreignText(url, service.apiKey)} as the base URL.`;
}

/** Whatever stopped an exchange, as the error that callers know: an abort of theirs stays theirs. */
export function asPipelineError(service: Service, error: unknown, callers: AbortSignal): unknown {
  if (callers.aborted) return callers.reason;
  return error instanceof PipelineError ? error : outOfReach(service, error);
}

/** Reads the rest of an answer. @throws as {@link exchange}. */
export async function readWhole(
  service: Service,
  ask: Ask,
  response: Answer,
  callers: AbortSignal,
): Promise<Reply> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > largestBodyBytes) {
        // What it says may be lost, but not that it refuses (contract: "Refusals and errors over HTTP"), nor what was done.
        if (response.status === 429 || ask.method !== "GET") break;
        throw new PipelineError("breaks-contract", `${labelOf(ask)}: the answer is larger than 4 MiB.`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw asPipelineError(service, error, callers);
  }
  const body = new TextDecoder().decode(Buffer.concat(chunks));
  return { status: response.status, headers: response.headers, body };
}

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
