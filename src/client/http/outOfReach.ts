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
export function outOfReach({ baseUrl, apiKey, clock, trustNext }: Service, cause: unknown): OutOfReach {
  // What became of a proxy is told where it is asked.
  if (cause instanceof Error && cause.cause instanceof OutOfReach) return cause.cause;
  const fault = faultAt(baseUrl.host, cause, clock.now(), { apiKey, trustNext });
  if (fault.fault !== "dropped" || baseUrl.protocol !== "http:") return fault;
  // What speaks TLS closes a connection that begins otherwise, mostly without a word.
  const next = "Check that the service is running; one that speaks TLS needs https:// in the base URL.";
  return new OutOfReach("dropped", fault.message, { cause, next });
}

/**
 * The same for any host.
 * @param host how it is called in the sentence.
 * @param now the caller's clock in milliseconds since 1970.
 * @param options see {@link Service}.
 */
export function faultAt(
  host: string,
  cause: unknown,
  now: number,
  { apiKey = "", trustNext }: Partial<Pick<Service, "apiKey" | "trustNext">> = {},
): OutOfReach {
  if (cause instanceof DeadlinePassed) {
    return new OutOfReach("timed-out", `${host} did not answer within ${cause.seconds} s.`, { cause });
  }
  const { error, code = "" } = innermost(cause);
  const kind = code.startsWith("HPE_") ? "not-http" : undefined;
  const fault = faultsByCode[code] ?? kind;
  if (fault !== undefined) {
    const next = fault === "no-such-host" || fault === "no-route" ? { next: checkNetwork } : {};
    const said = code.endsWith("_OVERFLOW")
      ? `The headers of what ${host} answered are too large.`
      : sentences[fault](host);
    return new OutOfReach(fault, said, { cause, ...next });
  }
  const tls = tlsFault(error, code, host, now, trustNext);
  if (tls !== undefined) return new OutOfReach("tls", tls.message, { cause, next: tls.next });
  const reason = foreignText(error.message, apiKey);
  return new OutOfReach("dropped", `The exchange with ${host} failed: ${reason}.`, { cause });
}

const checkNetwork = "Check the base URL and this machine's network, which may need a proxy.";

/** By the codes of Node's sockets, its HTTP parser and undici. */
const faultsByCode: Readonly<Record<string, keyof typeof sentences>> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "no-such-host",
  EAI_AGAIN: "no-such-host",
  EHOSTUNREACH: "no-route",
  ENETUNREACH: "no-route",
  ETIMEDOUT: "timed-out",
  UND_ERR_CONNECT_TIMEOUT: "timed-out",
  UND_ERR_HEADERS_TIMEOUT: "timed-out",
  UND_ERR_BODY_TIMEOUT: "timed-out",
  ECONNRESET: "dropped",
  ECONNABORTED: "dropped",
  EPIPE: "dropped",
  UND_ERR_SOCKET: "dropped",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "dropped",
  HPE_INVALID_EOF_STATE: "dropped",
  UND_ERR_HEADERS_OVERFLOW: "not-http",
};

const sentences = {
  refused: (host: string) => `Nothing listens at ${host}: the connection was refused.`,
  "no-such-host": (host: string) => `The name of ${host} was not found.`,
  "no-route": (host: string) => `The network has no way to ${host}.`,
  "timed-out": (host: string) => `${host} did not answer in time.`,
  dropped: (host: string) => `${host} closed the connection before the answer was whole.`,
  "not-http": (host: string) => `What answered at ${host} was not HTTP.`,
} as const;

/** The innermost error that has a code, else the innermost. `fetch` wraps the socket's error, and that may hold several. */
function innermost(thrown: unknown): { readonly error: Error; readonly code?: string } {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const within: unknown[] = error instanceof AggregateError ? error.errors : [error.cause];
  const inner = within.filter((each) => each instanceof Error).map(innermost);
  const coded = inner.find(({ code }) => code !== undefined);
  if (coded !== undefined) return coded;
  if ("code" in error && typeof error.code === "string") return { error, code: error.code };
  return error.name === "HTTPParserError" ? { error, code: "HPE_" } : (inner[0] ?? { error });
}
