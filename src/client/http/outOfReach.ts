import { PipelineError } from "../../contract/errors.ts";
import { DeadlinePassed } from "../deadline.ts";
import { foreignText } from "./foreignText.ts";
import type { Service } from "./service.ts";

/**
 * How a request failed to bring an answer: `dropped` and `timed-out` may have reached the service, `unavailable`
 * means that something before it answered in its place; the others never reached it.
 */
export type ReachFault =
  | "refused"
  | "no-such-host"
  | "no-route"
  | "tls"
  | "not-http"
  | "timed-out"
  | "dropped"
  | "unavailable";

/** The service gave no answer. */
export class OutOfReach extends PipelineError {
  readonly fault: ReachFault;

  constructor(
    fault: ReachFault,
    message: string,
    options: { readonly cause?: unknown; readonly next?: string },
  ) {
    super("out-of-reach", message, options);
    this.fault = fault;
  }
}

/** Turns what `fetch` or the reading of a body threw into one sentence that names the host and the plain reason. */
export function outOfReach(service: Service, cause: unknown): OutOfReach {
  const { host } = service.baseUrl;
  if (cause instanceof DeadlinePassed) {
    return new OutOfReach("timed-out", `${host} did not answer within ${cause.seconds} s.`, { cause });
  }
  const code = faultCode(cause);
  const known = code === undefined ? undefined : (faults[code] ?? tlsFault(code));
  if (known !== undefined) return new OutOfReach(known.fault, known.sentence(host), { cause });
  const reason = foreignText(deepestMessage(cause), service.apiKey);
  return new OutOfReach("dropped", `The exchange with ${host} failed: ${reason}.`, { cause });
}

interface Fault {
  readonly fault: ReachFault;
  readonly sentence: (host: string) => string;
}

const refused: Fault = {
  fault: "refused",
  sentence: (host) => `Nothing listens at ${host}: the connection was refused.`,
};
const noSuchHost: Fault = {
  fault: "no-such-host",
  sentence: (host) => `The name of ${host} was not found.`,
};
const noRoute: Fault = { fault: "no-route", sentence: (host) => `The network has no way to ${host}.` };
const timedOut: Fault = { fault: "timed-out", sentence: (host) => `${host} did not answer in time.` };
const dropped: Fault = {
  fault: "dropped",
  sentence: (host) => `${host} closed the connection before the answer was whole.`,
};
const noHttp: Fault = {
  fault: "not-http",
  sentence: (host) => `What answered at ${host} was not HTTP.`,
};

/** By the codes of Node's sockets and of its `fetch`, and the one name of an error that has no code. */
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
  EPIPE: dropped,
  UND_ERR_SOCKET: dropped,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: dropped,
  HTTPParserError: noHttp,
};

const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "it is signed by an authority that this machine doesn't know",
  UNABLE_TO_GET_ISSUER_CERT: "it is signed by an authority that this machine doesn't know",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "it is signed by an authority that this machine doesn't know",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "it is signed by an authority that this machine doesn't know",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another host",
  CERT_REVOKED: "it was revoked",
};

function tlsFault(code: string): Fault | undefined {
  const why = certificateFaults[code];
  if (why !== undefined) {
    return { fault: "tls", sentence: (host) => `The certificate of ${host} can't be trusted: ${why}.` };
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) {
    return { fault: "tls", sentence: (host) => `No secure connection to ${host} could be made (${code}).` };
  }
  return undefined;
}

/** The code of the innermost error that has one. `fetch` wraps the socket's error, and that may hold several. */
function faultCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const within = error instanceof AggregateError ? error.errors : [error.cause];
  for (const inner of within) {
    const code = faultCode(inner);
    if (code !== undefined) return code;
  }
  if (error.name === "HTTPParserError") return error.name;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function deepestMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? deepestMessage(error.cause) : error.message;
}
