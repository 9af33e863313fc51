const notHttp = "HTTPParserError";

/** One plain sentence on why no reply came, with the address it was asked for. */
export function describeConnectionProblem(url: URL, error: unknown): string {
  const { code, message } = causeOf(error);
  switch (code) {
    case "ECONNREFUSED":
      return `nothing listens at ${url.host} (connection refused)`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `the host ${url.hostname} isn't known (${code})`;
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `${url.host} closed the connection before its reply was complete`;
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${url.host} can't be reached (${code})`;
    case "CERT_HAS_EXPIRED":
      return `the certificate of ${url.host} has expired`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `the certificate of ${url.host} was made for another host`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return `the certificate of ${url.host} isn't from an authority that this machine trusts (${code}); the file named by NODE_EXTRA_CA_CERTS where the service is started can name more`;
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

/** `fetch` hides what happened in a chain of causes; the innermost one says it. */
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
