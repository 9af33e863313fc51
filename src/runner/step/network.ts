import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** The addresses of this machine itself, by their families. */
export const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
] as const;

const ofThisMachine = /(?:^|\.)localhost$/i;

/**
 * Takes `localhost` and names below it, such as `app.localhost`, for this machine by both of its addresses, as browsers do,
 * whatever the system's resolver says (RFC 6761, 6.3): a server may listen on one that the resolver doesn't name.
 */
const lookUp: LookupFunction = (hostname, options, callback) => {
  if (!ofThisMachine.test(hostname)) return lookup(hostname, options, callback);
  lookup("localhost", options, (error, found, family) => {
    if (!options.all) return callback(error, found, family);
    const named = Array.isArray(found) ? found : [];
    const missing = loopback.filter(({ address }) => !named.some((one) => one.address === address));
    callback(null, [...named, ...missing]);
  });
};

/**
 * How a step's connection finds its host. Node gives up an address of several after 0.25 s, which a busy server of this machine
 * may need; one that nothing listens on is refused at once.
 */
export function lookingUp(hostname: string) {
  return { lookup: lookUp, ...(ofThisMachine.test(hostname) && { autoSelectFamilyAttemptTimeout: 10_000 }) };
}

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
