import { PipelineError } from "../../contract/errors.ts";
import { DeadlinePassed } from "../deadline.ts";
import { foreignText } from "./foreignText.ts";
import type { Service } from "./service.ts";
import { tlsFault } from "./tlsFault.ts";

/**
 * How a request failed to bring an answer: `dropped` and `timed-out` may have reached the service, `unavailable`
 * means that something before it answered in its place, `throttled` that it was asked too often; the others never
 * reached it.
 */
export type ReachFault =
  | "refused"
  | "no-such-host"
  | "no-route"
  | "tls"
  | "proxy"
  | "not-http"
  | "timed-out"
  | "dropped"
  | "unavailable"
  | "throttled";

/** The service gave no answer. */
export class OutOfReach extends PipelineError {
  readonly fault: ReachFault;
  /** What whoever answered in the service's place asks to wait, where it does. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    fault: ReachFault,
    message: string,
    options: { readonly cause?: unknown; readonly next?: string; readonly retryAfterSeconds?: number },
  ) {
    super("out-of-reach", message, options);
    this.fault = fault;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Turns what `fetch` or the reading of a body threw into one sentence that names the host and the plain reason. */
export function outOfReach(service: Service, cause: unknown): OutOfReach {
  const { host } = service.baseUrl;
  const known = knownFault(cause, host, service.clock.now(), service.trustNext);
  if (known?.fault === "dropped" && service.baseUrl.protocol === "http:") {
    // What speaks TLS closes a connection that begins otherwise, mostly without a word.
    return new OutOfReach("dropped", known.message, {
      cause,
      next: "Check that the service is running; one that speaks TLS needs https:// in the base URL.",
    });
  }
  if (known !== undefined) return known;
  const reason = foreignText(deepestMessage(cause), service.apiKey);
  return new OutOfReach("dropped", `The exchange with ${host} failed: ${reason}.`, { cause });
}

/**
 * The same for the faults that have words of their own.
 * @param host how the other side is called in the sentences.
 * @param now the caller's clock in milliseconds since 1970.
 * @param trustNext what makes a certificate trusted that isn't; the environment's way when left out.
 */
export function knownFault(
  cause: unknown,
  host: string,
  now: number,
  trustNext?: string,
): OutOfReach | undefined {
  if (cause instanceof DeadlinePassed) {
    return new OutOfReach("timed-out", `${host} did not answer within ${cause.seconds} s.`, { cause });
  }
  const coded = codedError(cause);
  if (coded === undefined) return undefined;
  const known = faults[coded.code];
  if (known !== undefined) {
    const next = known.next === undefined ? {} : { next: known.next };
    return new OutOfReach(known.fault, known.sentence(host), { cause, ...next });
  }
  if (coded.code.startsWith("HPE_")) return new OutOfReach("not-http", noHttp.sentence(host), { cause });
  const tls = tlsFault(coded.error, coded.code, host, now, trustNext);
  return tls === undefined ? undefined : new OutOfReach("tls", tls.message, { cause, next: tls.next });
}

interface Fault {
  readonly fault: ReachFault;
  readonly sentence: (host: string) => string;
  readonly next?: string;
}

const checkNetwork = "Check the base URL and this machine's network, which may need a proxy.";

const refused: Fault = {
  fault: "refused",
  sentence: (host) => `Nothing listens at ${host}: the connection was refused.`,
};
const noSuchHost: Fault = {
  fault: "no-such-host",
  sentence: (host) => `The name of ${host} was not found.`,
  next: checkNetwork,
};
const noRoute: Fault = {
  fault: "no-route",
  sentence: (host) => `The network has no way to ${host}.`,
  next: checkNetwork,
};
const timedOut: Fault = { fault: "timed-out", sentence: (host) => `${host} did not answer in time.` };
const dropped: Fault = {
  fault: "dropped",
  sentence: (host) => `${host} closed the connection before the answer was whole.`,
};
const noHttp: Fault = {
  fault: "not-http",
  sentence: (host) => `What answered at ${host} was not HTTP.`,
};
const endlessHeaders: Fault = {
  fault: "not-http",
  sentence: (host) => `The headers of what ${host} answered are too large.`,
};

/** By the codes of Node's sockets, its HTTP parser and its `fetch`, and the one name of an error that has no code. */
const faults: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: refused,
  ENOTFOUND: noSuchHost,
  EAI_AGAIN: noSuchHost,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: timedOut,
  UND_ERR_CONNECT_TIMEOUT: timedOut,
  UND_ERR_HEADERS_TIMEOUT: timedOut,
  UND_ERR_BODY_TIMEOUT: timedOut,
  ECONNRESET: dropped,
  ECONNABORTED: dropped,
  EPIPE: dropped,
  UND_ERR_SOCKET: dropped,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: dropped,
  HPE_INVALID_EOF_STATE: dropped,
  HTTPParserError: noHttp,
  HPE_HEADER_OVERFLOW: endlessHeaders,
  UND_ERR_HEADERS_OVERFLOW: endlessHeaders,
};

interface CodedError {
  readonly error: Error;
  readonly code: string;
}

/** The innermost error that has a code. `fetch` wraps the socket's error, and that may hold several. */
function codedError(error: unknown): CodedError | undefined {
  if (!(error instanceof Error)) return undefined;
  const within = error instanceof AggregateError ? error.errors : [error.cause];
  for (const inner of within) {
    const coded = codedError(inner);
    if (coded !== undefined) return coded;
  }
  if (error.name === "HTTPParserError") return { error, code: error.name };
  return "code" in error && typeof error.code === "string" ? { error, code: error.code } : undefined;
}

function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? deepestMessage(error.cause) : error.message;
}
