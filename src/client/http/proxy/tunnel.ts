import { type ClientRequest, type IncomingMessage, request as requestPlainly } from "node:http";
import { request as requestSecurely } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../clock.ts";
import { proxyFault, refusedTunnel } from "./proxyFault.ts";
import type { ProxyServer } from "./proxyFor.ts";

/** The other end of a tunnel; the host without the brackets of an IPv6 address. */
export interface Destination {
  readonly hostname: string;
  readonly port: number;
}

/**
 * A connection to a host that a proxy makes (RFC 9110, "CONNECT"): what is written to it reaches the host as it is. The
 * proxy learns the host, the port and its own user's password, and nothing that is sent afterwards over TLS.
 *
 * @param signal its abort closes the connection as long as the tunnel isn't there; from then on it belongs to the caller.
 * @throws OutOfReach that names the proxy and the variable that it comes from; the signal's reason.
 */
export function openTunnel(
  proxy: ProxyServer,
  to: Destination,
  clock: Clock,
  signal: AbortSignal,
): Promise<Duplex> {
  const authority = `${isIP(to.hostname) === 6 ? `[${to.hostname}]` : to.hostname}:${to.port}`;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const asking = connectRequest(proxy, authority);
    const giveUp = (): void => {
      asking.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    const settled = (): void => signal.removeEventListener("abort", giveUp);
    asking.once("connect", (answer: IncomingMessage, socket: Duplex, early: Buffer) => {
      settled();
      const refused = refusedTunnel(proxy, to.hostname, answer);
      if (refused !== undefined) {
        socket.destroy();
        return reject(refused);
      }
      if (early.length > 0) socket.unshift(early);
      resolve(socket);
    });
    asking.on("error", (error) => {
      settled();
      reject(proxyFault(proxy, to.hostname, error, clock.now()) ?? error);
    });
    asking.end();
  });
}

/** With no agent's settings: a proxy must not be asked through the proxy that Node itself may have been told of. */
function connectRequest(proxy: ProxyServer, authority: string): ClientRequest {
  const request = proxy.protocol === "https:" ? requestSecurely : requestPlainly;
  return request({
    // The proxy's own name: left out, it would be that of the `host` header.
    servername: isIP(proxy.hostname) === 0 ? proxy.hostname : "",
    method: "CONNECT",
    host: proxy.hostname,
    port: proxy.port,
    path: authority,
    agent: false,
    headers: {
      host: authority,
      connection: "keep-alive",
      "user-agent": "pipeline-runs",
      ...(proxy.authorization === undefined ? {} : { "proxy-authorization": proxy.authorization }),
    },
  });
}
