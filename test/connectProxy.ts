import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Certificate } from "./certificate.ts";

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
export class ConnectProxy implements AsyncDisposable {
  /** The authority of each CONNECT, in their order. */
  readonly asked: string[] = [];
  /** The requests as they came, for their headers. */
  readonly requests: IncomingMessage[] = [];
  /** Connections of clients that are open now. */
  open = 0;
  /** All bytes that clients have sent, as text: what the proxy could read. */
  seen = "";
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #watchers = new Set<() => void>();

  static async listen(leadsTo: number, options: ProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(leadsTo, options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(leadsTo: number, options: ProxyOptions) {
    const { certificate } = options;
    this.#server = certificate === undefined ? createServer() : createSecureServer(certificate);
    this.#server.on(certificate === undefined ? "connection" : "secureConnection", (socket: Socket) => {
      this.open += 1;
      socket.on("data", (bytes) => {
        this.seen += bytes.toString("latin1");
      });
      socket.once("close", () => {
        this.open -= 1;
        this.#changed();
      });
    });
    this.#server.on("connect", (request, socket) => this.#connect(request, socket, leadsTo, options));
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy does not listen");
    return address.port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Breaks every tunnel off. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves as soon as the condition holds; it is looked at whenever a tunnel is asked for or a connection closes. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#watchers.delete(look);
          resolve();
        };
        this.#watchers.add(look);
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    this.#server.closeAllConnections();
    await closed;
  }

  #connect(request: IncomingMessage, socket: Duplex, leadsTo: number, options: ProxyOptions): void {
    const authority = request.url ?? "";
    this.asked.push(authority);
    this.requests.push(request);
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("end", () => socket.end());
    socket.once("close", () => this.#sockets.delete(socket));
    this.#changed();
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
    const onward = connect(leadsTo, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
    onward.once("close", () => socket.destroy());
    socket.once("close", () => onward.destroy());
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}
