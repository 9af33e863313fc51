import { foreignText } from "./foreignText.ts";

/** One sentence for what is wrong, and one for what to do. */
export interface Told {
  readonly message: string;
  readonly next: string;
}

/**
 * What a fault of TLS means, by the codes of Node's certificate check and the reasons of OpenSSL.
 *
 * @param host how the other side is called in the sentences.
 * @param now the caller's clock in milliseconds since 1970: a certificate is good or not by it.
 * @param trustNext what makes a certificate trusted that isn't; the environment's way when left out.
 * @returns undefined for an error of another kind.
 */
export function tlsFault(
  error: Error,
  code: string,
  host: string,
  now: number,
  trustNext?: string,
): Told | undefined {
  const certificate = certificateFault(error, code, now, trustNext);
  if (certificate !== undefined) {
    return {
      message: `The certificate of ${host} can't be trusted: ${certificate.why}.`,
      next: certificate.next,
    };
  }
  const reason = opensslReason(error, code);
  if (reason === undefined) return undefined;
  const known = handshakeFaults.find(([pattern]) => pattern.test(reason));
  if (known !== undefined) return { message: known[1](host), next: known[2] };
  return {
    message: `No secure connection to ${host} could be made (${foreignText(reason, "")}).`,
    next: "Check the base URL and its port; whoever runs the service can look at its TLS settings.",
  };
}

interface CertificateFault {
  readonly why: string;
  readonly next: string;
}

function certificateFault(
  error: Error,
  code: string,
  now: number,
  trustNext: string | undefined,
): CertificateFault | undefined {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return {
        why: "it has expired",
        next: `Whoever runs it must renew it, unless this machine's clock is wrong: it says ${minute(now)}.`,
      };
    case "CERT_NOT_YET_VALID":
      return {
        why: "it is not valid yet",
        next: `Set this machine's clock if it is wrong: it says ${minute(now)}.`,
      };
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return {
        why: "it is signed by itself",
        next:
          trustNext ??
          "If you know it to be the right one, set NODE_EXTRA_CA_CERTS to a file that holds it (PEM).",
      };
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "CERT_UNTRUSTED":
      return {
        why: "it is signed by an authority that this machine doesn't know",
        next:
          trustNext ??
          "If you trust that authority, set NODE_EXTRA_CA_CERTS to a file with its certificate (PEM).",
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
    case "HOSTNAME_MISMATCH":
      return {
        why: `it is for ${namesOf(error)}`,
        next: "Write the name that it is for, if that is the host you mean.",
      };
    case "CERT_REVOKED":
      return { why: "it was revoked", next: "Whoever runs it must get a new one; until then, don't use it." };
    case "INVALID_CA":
    case "PATH_LENGTH_EXCEEDED":
      return { why: "it is signed by a certificate that may sign none", next: mustReplace };
    case "INVALID_PURPOSE":
      return { why: "it, or what it is signed by, is not meant for that", next: mustReplace };
    case "CERT_SIGNATURE_FAILURE":
      return { why: "its signature is wrong", next: mustReplace };
    default:
      return code === "UNSPECIFIED" ? weakness(error.message) : undefined;
  }
}

const mustReplace = "Whoever runs it must replace it.";

/** What is too weak for OpenSSL has no code of its own in Node, only a sentence. */
function weakness(said: string): CertificateFault | undefined {
  if (/key too weak/i.test(said)) return { why: "its key is too weak", next: mustReplace };
  if (/digest algorithm too weak/i.test(said)) return { why: "its signature is too weak", next: mustReplace };
  return undefined;
}

/** The hosts that the certificate names, at most three of them. */
function namesOf(error: Error): string {
  const certificate = "cert" in error ? error.cert : undefined;
  const named =
    typeof certificate === "object" && certificate !== null && "subjectaltname" in certificate
      ? String(certificate.subjectaltname ?? "")
      : "";
  const names = named.split(/,\s*/).flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  const more = names.length > 3 ? " and others" : "";
  return foreignText(`${names.slice(0, 3).join(", ")}${more}`, "") || "another host";
}

type HandshakeFault = readonly [RegExp, (host: string) => string, next: string];

/** The first that matches counts. */
const handshakeFaults: readonly HandshakeFault[] = [
  [
    /wrong version number|packet length too long|http request|https proxy request/,
    (host) => `What answers at ${host} speaks no TLS.`,
    "Check the port, or write http:// for what speaks plain HTTP; a service may do so only on this machine.",
  ],
  [
    /certificate required|alert bad certificate|alert unknown ca|alert no certificate/,
    (host) => `No secure connection to ${host} could be made: it wants a certificate of the caller.`,
    "The tool has none to show; ask for an address that takes the API key alone.",
  ],
  [
    /protocol version|unsupported protocol|no protocols available|version too low/,
    (host) => `No secure connection to ${host} could be made: it knows no version of TLS that is safe.`,
    "Whoever runs it must allow TLS 1.2 or later.",
  ],
  [
    /unrecognized name/,
    (host) => `No secure connection to ${host} could be made: it knows no host of that name.`,
    "Check the name in the base URL.",
  ],
  [
    /no application protocol/,
    (host) => `No secure connection to ${host} could be made: it speaks no HTTP/1.1.`,
    "Whoever runs it must allow HTTP/1.1.",
  ],
  [
    /key too (?:small|weak)/,
    (host) => `No secure connection to ${host} could be made: its key is too weak.`,
    mustReplace,
  ],
  [
    /handshake failure|no shared cipher|cipher/,
    (host) =>
      `No secure connection to ${host} could be made: the two sides agree on no cipher, or it wants a certificate of the caller.`,
    "Whoever runs it can look at its TLS settings.",
  ],
];

/** Like `wrong version number`: in the error itself, in its sentence, or as its code. */
function opensslReason(error: Error, code: string): string | undefined {
  if ("reason" in error && typeof error.reason === "string" && code.startsWith("ERR_SSL_")) {
    return error.reason;
  }
  const said = /:SSL routines:[^:]*:([^:]+):/.exec(error.message)?.[1];
  if (said !== undefined) return said;
  if (code.startsWith("ERR_SSL_")) return code.slice("ERR_SSL_".length).replaceAll("_", " ").toLowerCase();
  return code === "EPROTO" || code.startsWith("ERR_TLS_") ? code : undefined;
}

function minute(now: number): string {
  return `${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
