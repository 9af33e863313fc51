import { Agent, fetch, Headers, type Response } from "undici";
import { describeNetworkProblem } from "./networkProblem.ts";

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | undefined;
  /** Whether a redirect is followed, or is the reply itself. */
  readonly followRedirects: boolean;
}

export interface HttpReply {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  /** Cut off at `largestReply`. */
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. */
  readonly text: string;
  readonly isCut: boolean;
}

interface Redirect {
  readonly status: number;
  /** The request that follows it. */
  readonly next: HttpRequest;
}

/** A reply, or why there was none, in a sentence. */
type Sent =
  | { readonly kind: "reply"; readonly reply: HttpReply }
  | { readonly kind: "none"; readonly problem: string };

/** In bytes, after decompression. No more of a reply is read, since it may be endless. */
export const largestReply = 10 * 1024 * 1024;
const mostRedirects = 10;

/** Only the step's own timeout applies. */
const unlimited = { connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0 };

/**
 * Sends a request and reads its reply. Of the step's own headers, none goes to another origin after a redirect: they may
 * contain secrets.
 *
 * @param onRedirect called for each redirect that is followed.
 * @throws what `signal` was aborted with.
 */
export async function sendRequest(
  first: HttpRequest,
  onRedirect: (redirect: Redirect) => void,
  signal: AbortSignal,
): Promise<Sent> {
  const dispatcher = new Agent({ ...unlimited, allowH2: false });
  try {
    return await follow(first, dispatcher, onRedirect, signal);
  } finally {
    // Also aborts connections that are still being opened.
    void dispatcher.destroy();
  }
}

async function follow(
  first: HttpRequest,
  dispatcher: Agent,
  onRedirect: (redirect: Redirect) => void,
  signal: AbortSignal,
): Promise<Sent> {
  let request = first;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    let response: Response;
    try {
      response = await fetch(request.url.href, {
        method: request.method,
        headers: request.headers,
        redirect: "manual",
        dispatcher,
        signal,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      const location = request.followRedirects ? redirectTarget(response) : undefined;
      if (location === undefined) return { kind: "reply", reply: await readReply(request.url, response) };
      await response.body?.cancel();
      const next = URL.parse(location, request.url.href);
      if (next === null || !/^https?:$/.test(next.protocol)) {
        return {
          kind: "none",
          problem: `${request.url.host} redirects to \`${location}\`, which is no address`,
        };
      }
      request = redirected(request, response.status, next);
      onRedirect({ status: response.status, next: request });
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "none", problem: describeConnectionProblem(request.url, error) };
    }
  }
  return {
    kind: "none",
    problem: `${first.url.host} redirects without end (${mostRedirects} times followed)`,
  };
}

function redirectTarget(response: Response): string | undefined {
  const redirects = [301, 302, 303, 307, 308].includes(response.status);
  return redirects ? (response.headers.get("location") ?? undefined) : undefined;
}

/** As browsers do: a 303, and a 301 or 302 for a POST, become a GET; others repeat the request. */
function redirected(request: HttpRequest, status: number, url: URL): HttpRequest {
  const becomesGet =
    (status === 303 && request.method !== "HEAD") || (status < 303 && request.method === "POST");
  const type = request.headers.get("content-type");
  const headers = url.origin === request.url.origin ? new Headers(request.headers) : new Headers();
  if (becomesGet) headers.delete("content-type");
  else if (type !== null) headers.set("content-type", type);
  return {
    ...request,
    url,
    headers,
    method: becomesGet ? "GET" : request.method,
    body: becomesGet ? undefined : request.body,
  };
}

async function readReply(url: URL, response: Response): Promise<HttpReply> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  for await (const bytes of response.body ?? []) {
    const room = largestReply - size;
    isCut = bytes.length > room;
    size += bytes.length;
    pieces.push(bytes.subarray(0, room));
    if (isCut) break;
  }
  const bytes = Buffer.concat(pieces);
  return {
    url,
    status: response.status,
    headers: response.headers,
    bytes,
    text: new TextDecoder().decode(bytes),
    isCut,
  };
}

const notHttp = "HTTPParserError";

/** Why no reply came, in a sentence. */
export function describeConnectionProblem(url: URL, error: unknown): string {
  const { code, message } = causeOf(error);
  const problem = describeNetworkProblem(url, code);
  if (problem !== undefined) return problem;
  // This one has no code.
  if (message === "bad port") return describeRefusedPort(url);
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `${url.host} closed the connection before its reply was complete`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${url.host} can't be reached (${code})`;
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return `${url.host} doesn't speak https`;
    case notHttp:
      return `what answers at ${url.host} isn't HTTP`;
    default:
      return `the request to ${url.host} failed: ${message}${code === undefined ? "" : ` (${code})`}`;
  }
}

/** `fetch` refuses the bad ports of the Fetch standard, which belong to other protocols. */
function describeRefusedPort({ hostname, port }: URL): string {
  return `no request is sent to port ${port} of ${hostname}: that port belongs to another protocol, and fetch and browsers refuse it (a bad port of the Fetch standard); let the server listen at another port`;
}

/** The innermost cause: `fetch` wraps the original error. */
function causeOf(error: unknown): { readonly code: string | undefined; readonly message: string } {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && cause.cause instanceof Error; depth += 1) {
    cause = cause.cause;
  }
  if (!(cause instanceof Error)) return { code: undefined, message: String(cause) };
  if (cause.name === notHttp) return { code: notHttp, message: cause.message };
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
  return { code, message: cause.message };
}
