import { describeNetworkProblem } from "../networkProblem.ts";

const notHttp = "HTTPParserError";

/** One plain sentence on why no reply came, with the address it was asked for. */
export function describeConnectionProblem(url: URL, error: unknown): string {
  const { code, message } = causeOf(error);
  const problem = describeNetworkProblem(url, code);
  if (problem !== undefined) return problem;
  // This one has no code.
  if (message === "bad port") return describeRefusedPort(url);
  switch (code) {
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `${url.host} closed the connection before its reply was complete`;
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${url.host} can't be reached (${code})`;
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

/** Some ports belong to other protocols; the Fetch standard lists them as bad ports, and `fetch` heeds it. */
function describeRefusedPort({ hostname, port }: URL): string {
  return `no request is sent to port ${port} of ${hostname}: that port belongs to another protocol, and fetch and browsers refuse it (a bad port of the Fetch standard); let the server listen at another port`;
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
