import { Agent, type RequestOptions } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect } from "node:tls";
import type { Clock } from "../../clock.ts";
import type { ProxyServer } from "./proxyFor.ts";
import { openTunnel } from "./tunnel.ts";

export interface TunnelledRequest extends RequestOptions {
  /** Its abort closes a tunnel that is still being made. */
  readonly connecting?: AbortSignal;
}

/** Keeps the connections to a host that a proxy made, for the requests that follow. */
export class TunnelAgent extends Agent {
  readonly #proxy: ProxyServer;
  readonly #clock: Clock;

  constructor(proxy: ProxyServer, clock: Clock) {
    super({ keepAlive: true });
    this.#proxy = proxy;
    this.#clock = clock;
  }

  override createConnection(
    options: TunnelledRequest,
    callback: (error: Error | null, connection?: Duplex) => void,
  ): undefined {
    const host = options.host ?? "";
    const servername = options.servername ?? (isIP(host) === 0 ? host : "");
    openTunnel(
      this.#proxy,
      { hostname: host, port: Number(options.port) || 443 },
      this.#clock,
      options.connecting ?? new AbortController().signal,
    ).then(
      (socket) => callback(null, connect({ socket, host, servername, ALPNProtocols: ["http/1.1"] })),
      callback,
    );
  }
}
