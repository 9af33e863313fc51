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
  // What is too weak for OpenSSL has no code of its own in Node, only a sentence.
  const weak = code === "UNSPECIFIED" && /(?:key|digest algorithm) too weak/i.exec(error.message)?.[0];
  const certificate = certificateFaults[weak || code];
  if (certificate !== undefined) {
    const minute = `${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
    const [why, next] = certificate({ error, minute, trustNext });
    return { message: `The certificate of ${host} can't be trusted: ${why}.`, next };
  }
  const reason = opensslReason(error, code);
  if (reason === undefined) return undefined;
  if (/wrong version number|packet length too long|http request|https proxy request/.test(reason)) {
    return {
      message: `What answers at ${host} speaks no TLS.`,
      next: "Check the port, or write http:// for what speaks plain HTTP; a service may do so only on this machine.",
    };
  }
  const known = handshakeFaults.find(([pattern]) => pattern.test(reason));
  const [, why, next] = known ?? [
    undefined,
    ` (${foreignText(reason, "")})`,
    "Check the base URL and its port; whoever runs the service can look at its TLS settings.",
  ];
  return { message: `No secure connection to ${host} could be made${why}.`, next };
}

interface About {
  readonly error: Error;
  /** What this machine's clock says. */
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
const mayNotSign: CertificateFault = () => ["it is signed by a certificate that may sign none", mustReplace];

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
  CERT_REVOKED: () => ["it was revoked", "Whoever runs it must get a new one; until then, don't use it."],
  INVALID_CA: mayNotSign,
  PATH_LENGTH_EXCEEDED: mayNotSign,
  INVALID_PURPOSE: () => ["it, or what it is signed by, is not meant for that", mustReplace],
  CERT_SIGNATURE_FAILURE: () => ["its signature is wrong", mustReplace],
  "key too weak": () => ["its key is too weak", mustReplace],
  "digest algorithm too weak": () => ["its signature is too weak", mustReplace],
};

/** The hosts that the certificate names, at most three of them. */
function namesOf(error: Error): string {
  const certificate = "cert" in error ? error.cert : undefined;
  const isNamed = typeof certificate === "object" && certificate !== null && "subjectaltname" in certificate;
  const entries = isNamed ? String(certificate.subjectaltname).split(/,\s*/) : [];
  const names = entries.flatMap((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
  const more = names.length > 3 ? " and others" : "";
  return foreignText(`${names.slice(0, 3).join(", ")}${more}`, "") || "another host";
}

/** By OpenSSL's reason; the first that matches counts. */
const handshakeFaults: readonly (readonly [RegExp, why: string, next: string])[] = [
  [
    /certificate required|alert bad certificate|alert unknown ca|alert no certificate/,
    ": it wants a certificate of the caller",
    "The tool has none to show; ask for an address that takes the API key alone.",
  ],
  [
    /protocol version|unsupported protocol|no protocols available|version too low/,
    ": it knows no version of TLS that is safe",
    "Whoever runs it must allow TLS 1.2 or later.",
  ],
  [/unrecognized name/, ": it knows no host of that name", "Check the name in the base URL."],
  [/no application protocol/, ": it speaks no HTTP/1.1", "Whoever runs it must allow HTTP/1.1."],
  [/key too (?:small|weak)/, ": its key is too weak", mustReplace],
  [
    /handshake failure|no shared cipher|cipher/,
    ": the two sides agree on no cipher, or it wants a certificate of the caller",
    "Whoever runs it can look at its TLS settings.",
  ],
];

/** Like `wrong version number`: in the error itself, in its sentence, or as its code. */
function opensslReason(error: Error, code: string): string | undefined {
  const isOpenssl = code.startsWith("ERR_SSL_");
  if (isOpenssl && "reason" in error && typeof error.reason === "string") return error.reason;
  const said = /:SSL routines:[^:]*:([^:]+):/.exec(error.message)?.[1];
  if (said !== undefined) return said;
  if (isOpenssl) return code.slice("ERR_SSL_".length).replaceAll("_", " ").toLowerCase();
  return code === "EPROTO" || code.startsWith("ERR_TLS_") ? code : undefined;
}
