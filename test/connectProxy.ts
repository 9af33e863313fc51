import { createServer, type IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Certificate } from "./certificate.ts";
import { handOn, Listening } from "./listening.ts";

export interface ProxyOptions {
  /** Makes it speak TLS itself. */
  readonly certificate?: Certificate;
  /** `user:password` that it asks for. */
  readonly credentials?: string;
  /** Answers in the proxy's way, when a test wants something else than a tunnel. */
  readonly answer?: (socket: Duplex, authority: string) => void;
}

/**
 * A real HTTP proxy on loopback that makes tunnels. Every name leads to one port of this machine, so that a test can
 * have a service of any name without asking the network for it.
 */
export class ConnectProxy extends Listening {
  /** The authority of each CONNECT, in their order. */
  readonly asked: string[] = [];
  /** The requests as they came, for their headers. */
  readonly requests: IncomingMessage[] = [];
  /** All bytes that clients have sent, as text: what the proxy could read. */
  seen = "";

  static listen(leadsTo: number, options: ProxyOptions = {}): Promise<ConnectProxy> {
    return new ConnectProxy(leadsTo, options).listen();
  }

  private constructor(leadsTo: number, options: ProxyOptions) {
    const { certificate } = options;
    const server = certificate === undefined ? createServer() : createSecureServer(certificate);
    super(server);
    server.on(certificate === undefined ? "connection" : "secureConnection", (socket: Socket) =>
      socket.on("data", (bytes) => {
        this.seen += bytes.toString("latin1");
      }),
    );
    server.on("connect", (request, socket) => this.#connect(request, socket, leadsTo, options));
  }

  #connect(request: IncomingMessage, socket: Duplex, leadsTo: number, options: ProxyOptions): void {
    const authority = request.url ?? "";
    this.asked.push(authority);
    this.requests.push(request);
    socket.on("error", () => {});
    socket.once("end", () => socket.end());
    this.changed();
    if (options.answer !== undefined) {
      options.answer(socket, authority);
      return;
    }
    const { credentials } = options;
    const expected = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
    if (expected !== undefined && request.headers["proxy-authorization"] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n');
      return;
    }
    handOn(socket, leadsTo).once("connect", () =>
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n"),
    );
  }
}
