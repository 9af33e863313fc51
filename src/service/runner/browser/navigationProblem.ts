/** One plain sentence on why a page didn't open. */
export function describeNavigationProblem(url: URL, message: string): string {
  const { host, hostname } = url;
  if (/Download is starting/i.test(message)) {
    return `${url.origin}${url.pathname} is a download, not a page; an http step can fetch it`;
  }
  const code = /net::(ERR_[A-Z0-9_]+)/.exec(message)?.[1];
  switch (code) {
    case "ERR_CONNECTION_REFUSED":
      return `nothing listens at ${host} (connection refused)`;
    case "ERR_NAME_NOT_RESOLVED":
    case "ERR_NAME_RESOLUTION_FAILED":
      return `the host ${hostname} isn't known (${code})`;
    case "ERR_CONNECTION_RESET":
    case "ERR_CONNECTION_CLOSED":
    case "ERR_EMPTY_RESPONSE":
      return `${host} closed the connection before its page was complete`;
    case "ERR_CONNECTION_TIMED_OUT":
    case "ERR_TIMED_OUT":
    case "ERR_ADDRESS_UNREACHABLE":
    case "ERR_INTERNET_DISCONNECTED":
    case "ERR_NETWORK_CHANGED":
    case "ERR_PROXY_CONNECTION_FAILED":
      return `${host} can't be reached (${code})`;
    case "ERR_CERT_DATE_INVALID":
      return `the certificate of ${host} has expired, or isn't valid yet`;
    case "ERR_CERT_COMMON_NAME_INVALID":
      return `the certificate of ${host} was made for another host`;
    case "ERR_CERT_AUTHORITY_INVALID":
      return `the certificate of ${host} isn't from an authority that the browser trusts`;
    case "ERR_SSL_PROTOCOL_ERROR":
    case "ERR_SSL_VERSION_OR_CIPHER_MISMATCH":
      return `${host} doesn't speak https`;
    case "ERR_INVALID_HTTP_RESPONSE":
      return `what answers at ${host} isn't HTTP`;
    case "ERR_TOO_MANY_REDIRECTS":
      return `${host} redirects again and again`;
    case "ERR_UNSAFE_PORT":
      return `a browser opens no page on port ${url.port}, which belongs to another protocol`;
    case "ERR_ABORTED":
      return `${host} gave no page to show (an empty reply, or a download), or the page went elsewhere at once`;
    default:
      return `${host} can't be opened: ${code ?? message.split("\n", 1)[0]?.replace(/^page\.goto: /, "")}`;
  }
}
