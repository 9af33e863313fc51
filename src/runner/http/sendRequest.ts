import { createHash } from "node:crypto";
import { addAbortListener } from "node:events";
import { type Dispatcher, errors, request as send } from "undici";
import { anySignal } from "../../machine/anySignal.ts";
import { codeOf } from "../../project/systemErrors.ts";
import { PatternFault } from "../output/textSearch.ts";
import { describeNetworkProblem, type Peer } from "../step/network.ts";
import { StepFault } from "../step/stepContext.ts";
import { type Connection, type HttpSession, largestHeaders, unlimited } from "./connection.ts";
import { decoderFor, decodeText, decompress, headerBytes, headerText } from "./decode.ts";
import type { HttpRequest } from "./request.ts";

export interface HttpReply {
  readonly url: URL;
  readonly status: number;
  /** By their names in lower case; those that came several times are joined. */
  readonly headers: ReadonlyMap<string, string>;
  /** The headers' values, each as it came. */
  readonly headerValues: ReadonlyMap<string, readonly string[]>;
  /** Cut off at `largestReply`. */
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly isCut: boolean;
  /** How many bytes came. */
  readonly size: number;
  /** The hash of all bytes, even beyond the cut; undefined unless it is asked for. */
  readonly sha256: string | undefined;
  /** Why a reply that has begun didn't end: the time was over, or a sentence; undefined for one that did. */
  readonly broken: "in time" | string | undefined;
}

export interface SendDeps {
  readonly connection: Connection;
  readonly session: Pick<HttpSession, "cookiesFor" | "keep">;
  /** Makes an address safe to show: without what may be secret. */
  readonly show: (address: string) => string;
  readonly onRedirect: (redirect: { readonly status: number; readonly next: HttpRequest }) => void;
  /**
   * Whether enough has come of a reply that may never end. Called for its head with an empty text, then with each piece.
   * @param soFar makes a reply of all that has come, which takes longer the more that is.
   */
  readonly isEnough: (piece: string, soFar: () => HttpReply) => boolean;
  /** Aborted when the step's time is over; what has come of a reply then counts. */
  readonly timeout: AbortSignal;
  /** Aborted when a reply that may never end can no longer be in time; undefined if it has no time limit. */
  readonly late: AbortSignal | undefined;
  /** Whether the reply's SHA-256 is wanted, for which all of it is read. */
  readonly hashes: boolean;
}

/** In bytes, after decompression. No more of a reply is kept, and unless it is hashed no more is read, since it may be endless. */
export const largestReply = 10 * 1024 * 1024;
/** How much of a redirect's body is read, in bytes, and for how long, in milliseconds, so that its connection can be used again. */
const mostOfRedirect = { bytes: 64 * 1024, milliseconds: 200 } as const;

/**
 * Sends a request and reads its reply. Of the step's own headers, only those about the body go to another origin after a
 * redirect: the others may contain secrets.
 *
 * @throws StepFault when no reply comes; the reason of `timeout` if it aborts before a reply begins; the reason of `signal`.
 */
export async function sendRequest(
  first: HttpRequest,
  deps: SendDeps,
  signal: AbortSignal,
): Promise<HttpReply> {
  const ending = anySignal([deps.timeout, signal]);
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const { url } = request;
    const peer = deps.connection.peerOf(url);
    let response: Dispatcher.ResponseData;
    try {
      response = await sendOnce(request, deps, ending);
    } catch (error) {
      ending.throwIfAborted();
      throw new StepFault(describeConnectionProblem(url, error, peer));
    }
    const cookies = response.headers["set-cookie"];
    if (cookies !== undefined) await deps.session.keep([cookies].flat(), url);
    const { statusCode: status } = response;
    const location = request.redirects > 0 ? redirectTarget(response) : undefined;
    if (location === undefined) return readReply(url, response, deps, signal);
    const patience = AbortSignal.timeout(mostOfRedirect.milliseconds);
    await response.body.dump({ limit: mostOfRedirect.bytes, signal: patience }).catch(() => {});
    if (redirects === request.redirects)
      throw new StepFault(`${first.url.host} redirects without end (${request.redirects} times followed)`);
    const next = URL.parse(location, url.href);
    if (next === null || !/^https?:$/.test(next.protocol))
      throw new StepFault(
        `${url.host} redirects to \`${deps.show(location)}\`, which is no address of the web; with \`redirects: 0\` the redirect itself is the reply`,
      );
    request = redirected(request, status, next);
    deps.onRedirect({ status, next: request });
  }
}

/** Whether a request may be sent twice without harm (RFC 9110, 9.2.2). */
const isRepeatable = (method: string) => method !== "POST" && method !== "PATCH";

/**
 * Sends a repeatable request on an open connection and, if its server had just closed that, once more on a new one. Any other
 * request gets a new connection at once.
 */
async function sendOnce(
  request: HttpRequest,
  { connection, session }: Pick<SendDeps, "connection" | "session">,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { url, method, body } = request;
  const headers = await headersOf(request, session);
  const by = (dispatcher: Dispatcher) =>
    send(url.href, {
      method,
      headers,
      body: body?.open() ?? null,
      dispatcher,
      signal,
      ...unlimited,
    });
  // The library heeds the signal only once it is connected, and a TLS handshake or a proxy's tunnel may never be complete.
  using _ = addAbortListener(signal, () => connection.end(url));
  const used = isRepeatable(method) ? connection.used(url) : undefined;
  if (used === undefined) return await by(connection.fresh(url));
  return await by(used).catch((error: unknown) => {
    if (signal.aborted || !["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(causeOf(error).code ?? ""))
      throw error;
    return by(connection.fresh(url));
  });
}

/** The headers as they are sent: with the session's cookies after those that the step writes. */
async function headersOf(
  { headers, url, body }: HttpRequest,
  session: SendDeps["session"],
): Promise<Record<string, string | string[]>> {
  const written = [headers["cookie"] ?? []].flat();
  const cookies = [...written, await session.cookiesFor(url, written.join("; "))].filter(Boolean).join("; ");
  const all: HttpRequest["headers"] = {
    accept: "*/*",
    "accept-encoding": "gzip, deflate, br, zstd",
    "user-agent": "pipeline-runs",
    ...(body?.length === undefined ? {} : { "content-length": String(body.length) }),
    ...headers,
    ...(cookies === "" ? {} : { cookie: cookies }),
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      typeof value === "string" ? headerBytes(value) : value.map(headerBytes),
    ]),
  );
}

function redirectTarget({ statusCode, headers }: Dispatcher.ResponseData): string | undefined {
  const [location] = [headers["location"]].flat();
  return [301, 302, 303, 307, 308].includes(statusCode) && location !== undefined
    ? headerText(location)
    : undefined;
}

/** The headers that describe the body. */
const ofBody = /^(?:content-|digest$|repr-digest$)/;

/** As browsers do: a 303, and a 301 or 302 for a POST, become a GET; others repeat the request. */
function redirected(request: HttpRequest, status: number, url: URL): HttpRequest {
  const becomesGet =
    (status === 303 && request.method !== "HEAD") || (status < 303 && request.method === "POST");
  const isOwn = url.origin === request.url.origin;
  const headers = Object.entries(request.headers).filter(([name]) =>
    ofBody.test(name) ? !becomesGet : isOwn && name !== "host",
  );
  return {
    ...request,
    url,
    headers: Object.fromEntries(headers),
    method: becomesGet ? "GET" : request.method,
    body: becomesGet ? undefined : request.body,
  };
}

async function readReply(
  url: URL,
  response: Dispatcher.ResponseData,
  { isEnough, timeout, late, hashes }: SendDeps,
  signal: AbortSignal,
): Promise<HttpReply> {
  const headerValues = new Map(
    Object.entries(response.headers).flatMap(([name, value]): [string, string[]][] =>
      value === undefined ? [] : [[name.toLowerCase(), [value].flat().map(headerText)]],
    ),
  );
  const headers = new Map([...headerValues].map(([name, values]) => [name, values.join(", ")]));
  // An event stream ends when its reader has had enough.
  const isStream = /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
  const decoder = decoderFor(new Uint8Array(), headers.get("content-type"));
  const pieces: Uint8Array[] = [];
  let size = 0;
  let isCut = false;
  const hash = hashes ? createHash("sha256") : undefined;
  const soFar = (broken?: string): HttpReply => {
    const bytes = Buffer.concat(pieces);
    const text = decodeText(bytes, headers.get("content-type"));
    const sha256 = hash?.copy().digest("hex");
    const { statusCode: status } = response;
    return { url, status, headers, headerValues, bytes, text, isCut, size, sha256, broken };
  };
  const stop = () => response.body.on("error", () => {}).destroy();
  if (isStream) late?.addEventListener("abort", stop);
  try {
    if (isStream && isEnough("", soFar)) return soFar();
    for await (const bytes of decompress(response.body, headers.get("content-encoding"))) {
      const room = Math.max(0, largestReply - size);
      isCut ||= bytes.length > room;
      size += bytes.length;
      hash?.update(bytes);
      if (room > 0) pieces.push(bytes.subarray(0, room));
      if (
        (isCut && hash === undefined) ||
        (isStream && isEnough(decoder.decode(bytes, { stream: true }), soFar))
      )
        return soFar();
    }
    return soFar();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PatternFault) throw error;
    if (isStream && late?.aborted) return soFar();
    return soFar(timeout.aborted ? "in time" : describeConnectionProblem(url, error));
  } finally {
    late?.removeEventListener("abort", stop);
    stop();
  }
}

const authorities =
  "`ca` of the resource's `tls`, or the file named by NODE_EXTRA_CA_CERTS where the run is started, can name more";

/** Why no reply came, in a sentence. @param peer what was connected to. */
export function describeConnectionProblem(url: URL, error: unknown, peer: Peer = url): string {
  const { code, message } = causeOf(error);
  // A certificate is always the host's own.
  const problem = describeNetworkProblem(/^E(?!RR_)/.test(code ?? "") ? peer : url, code, authorities);
  if (problem !== undefined) return problem;
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
    case "ERR_HTTP2_STREAM_ERROR":
    case "ERR_HTTP2_SESSION_ERROR":
      // The library rejects such a reply if it wasn't asked for.
      if (/^bad (?:response|upgrade)$/.test(message))
        return `${url.host} sent 100 Continue or 101 Switching Protocols, which nobody asked for`;
      return `${url.host} closed the connection before its reply was complete`;
    case "ENOENT":
      return `nothing listens at ${peer.host} (no such socket)`;
    case "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED":
    case "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE":
      return `${url.host} refused TLS (${code}); where it wants a certificate, \`cert\` and \`key\` of the resource's \`tls\` name one`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${url.host} can't be reached (${code})`;
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return `${url.host} doesn't speak https`;
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return `the reply of ${url.host} breaks HTTP: its body isn't as long as its header \`content-length\` says, or that header is there twice or beside \`transfer-encoding\``;
    case "UND_ERR_HEADERS_OVERFLOW":
      return `the headers of the reply of ${url.host} are longer than ${largestHeaders / 1024} KiB`;
    default:
      if (/^(?:Z_|ERR__ERROR_|ZSTD_)/.test(code ?? ""))
        return `the reply of ${url.host} isn't compressed as its header \`content-encoding\` says, or not all of it came (${message})`;
      if (message.startsWith("Proxy "))
        return `the way to ${url.host} was refused by ${peer.host} (${/\d{3}/.exec(message)?.[0] ?? message})`;
      if (error instanceof errors.HTTPParserError) return describeFault(url, message);
      // The library's assertion fails for a status such as 099; in the bundle, Node throws a SyntaxError instead.
      if (code === "ERR_ASSERTION" || error instanceof SyntaxError)
        return `the reply of ${url.host} breaks HTTP, perhaps by its status, which is from 100 to 599`;
      return `the request to ${url.host} failed: ${message}${code === undefined ? "" : ` (${code})`}`;
  }
}

/** How a reply breaks HTTP, in the parser's own words, which its message has in parentheses. */
function describeFault({ host }: URL, message: string): string {
  const fault = /\(([^)]*)\)$/.exec(message)?.[1] ?? message;
  if (fault.startsWith("Expected HTTP/")) return `what answers at ${host} isn't HTTP`;
  const isLine = /\b(?:CR|LF)\b/.test(fault);
  return `the reply of ${host} breaks HTTP: ${isLine ? `a wrong line end in its head, which has to be CR LF (${fault})` : fault}`;
}

function causeOf(error: unknown): { readonly code: string | undefined; readonly message: string } {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error && cause.cause instanceof Error; depth += 1) {
    cause = cause.cause;
  }
  return { code: codeOf(cause), message: cause instanceof Error ? cause.message : String(cause) };
}
