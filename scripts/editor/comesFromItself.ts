import type { IncomingHttpHeaders } from "node:http";

const loopbackNames = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Whether a request to a loopback server was sent by that server's own page, or by no page at all. A name that
 * another site has pointed at this machine shows in `Host`; a page of another site shows in `Origin`. Any port is
 * right in `Host`, since a tunnel may end on another one than it began.
 */
export function comesFromItself(headers: IncomingHttpHeaders): boolean {
  const { host, origin } = headers;
  if (host === undefined || !loopbackNames.has(host.replace(/:\d+$/, ""))) return false;
  return origin === undefined || origin === `http://${host}`;
}
