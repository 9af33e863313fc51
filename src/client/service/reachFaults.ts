import { PipelineError } from "../../contract/errors.ts";
import { DeadlinePassed } from "./deadline.ts";
import { foreignText } from "./foreignText.ts";
import type { Service } from "./request.ts";

/**
 * Why no reply of the service came: a `dropped` or `timed-out` request may have reached it, `unavailable` comes from a proxy
 * before it, `throttled` means too many requests; with the others the request never reached it.
 */
type ReachFault =
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

export class OutOfReach extends PipelineError {
  readonly fault: ReachFault;
  /** From `Retry-After`, if present. */
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

/** Describes an error of `fetch`, or of reading a body, in one sentence that names the host and the reason. */
export function outOfReach({ baseUrl, apiKey, clock, trustNext }: Service, cause: unknown): OutOfReach {
  // `remoteFetch` has already described a proxy's fault.
  if (cause instanceof Error && cause.cause instanceof OutOfReach) return cause.cause;
  const fault = faultAt(baseUrl.host, cause, clock.now(), { apiKey, trustNext });
  if (fault.fault !== "dropped" || baseUrl.protocol !== "http:") return fault;
  // A TLS port usually closes a plain connection without a reply.
  const next = "Check that the service is running; one that speaks TLS needs https:// in the base URL.";
  return new OutOfReach("dropped", fault.message, { cause, next });
}

/**
 * Does the same for any host.
 * @param host its name in the sentence.
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

/** The innermost error with a code, else the innermost: `fetch` wraps the socket's error, which may be an AggregateError. */
function innermost(thrown: unknown): { readonly error: Error; readonly code?: string } {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const within: unknown[] = error instanceof AggregateError ? error.errors : [error.cause];
  const inner = within.filter((each) => each instanceof Error).map(innermost);
  const coded = inner.find(({ code }) => code !== undefined);
  if (coded !== undefined) return coded;
  if ("code" in error && typeof error.code === "string") return { error, code: error.code };
  return error.name === "HTTPParserError" ? { error, code: "HPE_" } : (inner[0] ?? { error });
}

/**
 * Explains a TLS fault by the code of Node's certificate check or by OpenSSL's reason.
 *
 * @param host its name in the sentences.
 * @param now the caller's clock in milliseconds since 1970, against which a certificate's validity is checked.
 * @param trustNext what to do about an untrusted certificate; NODE_EXTRA_CA_CERTS by default.
 * @returns undefined for an error of another kind.
 */
export function tlsFault(error: Error, code: string, host: string, now: number, trustNext?: string) {
  const certificate = certificateFaults[code];
  if (certificate !== undefined) {
    const minute = `${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
    const [why, next] = certificate({ error, minute, trustNext });
    return { message: `The certificate of ${host} can't be trusted: ${why}.`, next };
  }
  // Weak keys and digests have no code of their own.
  if (/^(?:CERT_|INVALID_|PATH_LENGTH_)/.test(code) || /too weak$/.test(error.message)) {
    const why = foreignText(error.message, "");
    return { message: `The certificate of ${host} can't be trusted: ${why}.`, next: mustReplace };
  }
  const reason = opensslReason(error, code);
  if (reason === undefined) return undefined;
  if (/wrong version number|packet length too long|http request|https proxy request/.test(reason)) {
    return {
      message: `What answers at ${host} speaks no TLS.`,
      next: "Check the port, or write http:// for what speaks plain HTTP; a service may do so only on this machine.",
    };
  }
  return {
    message: `No secure connection to ${host} could be made (${foreignText(reason, "")}).`,
    next: "Check the base URL and its port; whoever runs the service can look at its TLS settings.",
  };
}

interface About {
  readonly error: Error;
  readonly minute: string;
  readonly trustNext: string | undefined;
}

type CertificateFault = (about: About) => readonly [why: string, next: string];

const mustReplace = "Whoever runs it must replace it.";

const unknownAuthority: CertificateFault = ({ trustNext }) => [
  "it is signed by an authority that this machine doesn't know",
  trustNext ?? "If you trust that authority, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM).",
];
const otherHost: CertificateFault = ({ error }) => [
  `it is for ${namesOf(error)}`,
  "Write the name that it is for, if that is the host you mean.",
];

const certificateFaults: Readonly<Record<string, CertificateFault>> = {
  CERT_HAS_EXPIRED: ({ minute }) => [
    "it has expired",
    `Whoever runs it must renew it, unless this machine's clock is wrong: it says ${minute}.`,
  ],
  CERT_NOT_YET_VALID: ({ minute }) => [
    "it is not valid yet",
    `Set this machine's clock if it is wrong: it says ${minute}.`,
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: ({ trustNext }) => [
    "it is signed by itself",
    trustNext ?? "If you know it to be the right one, set NODE_EXTRA_CA_CERTS to a file that holds it (PEM).",
  ],
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_UNTRUSTED: unknownAuthority,
  ERR_TLS_CERT_ALTNAME_INVALID: otherHost,
  HOSTNAME_MISMATCH: otherHost,
};

function namesOf(error: Error): string {
  const certificate = "cert" in error ? error.cert : undefined;
  const isNamed = typeof certificate === "object" && certificate !== null && "subjectaltname" in certificate;
  const entries = isNamed ? String(certificate.subjectaltname).split(/,\s*/) : [];
  const names = entries.flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  const more = names.length > 3 ? " and others" : "";
  return foreignText(`${names.slice(0, 3).join(", ")}${more}`, "") || "another host";
}

/** OpenSSL's reason, such as `wrong version number`: the error's `reason`, or a part of its message or code. */
function opensslReason(error: Error, code: string): string | undefined {
  const isOpenssl = code.startsWith("ERR_SSL_");
  if (isOpenssl && "reason" in error && typeof error.reason === "string") return error.reason;
  const said = /:SSL routines:[^:]*:([^:]+):/.exec(error.message)?.[1];
  if (said !== undefined) return said;
  if (isOpenssl) return code.slice("ERR_SSL_".length).replaceAll("_", " ").toLowerCase();
  return code === "EPROTO" || code.startsWith("ERR_TLS_") ? code : undefined;
}
