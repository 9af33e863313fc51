import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** Takes `app.localhost` for this machine, as browsers do, whatever the system's resolver says (RFC 6761, 6.3). */
export const lookUp: LookupFunction = (hostname, options, callback) =>
  lookup(hostname.endsWith(".localhost") ? "localhost" : hostname, options, callback);

/** The server of a request. */
export interface Peer {
  /** With its port where that is known. */
  readonly host: string;
  readonly hostname: string;
}

/** Why there is no connection; undefined for codes that each protocol words itself. @param more how to add authorities. */
export function describeNetworkProblem(
  { host, hostname }: Peer,
  code: string | undefined,
  more = "the file named by NODE_EXTRA_CA_CERTS where the run is started can name more",
): string | undefined {
  switch (code) {
    case "ECONNREFUSED":
      return `nothing listens at ${host} (connection refused)`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host ${hostname} isn't known (${code})`;
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${host} can't be reached (${code})`;
    case "CERT_HAS_EXPIRED":
      return `the certificate of ${host} has expired`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `the certificate of ${host} was made for another host`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return `the certificate of ${host} isn't from an authority that this machine trusts (${code}); ${more}`;
    default:
      return undefined;
  }
}
