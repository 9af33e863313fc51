import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Changes } from "./client/told.ts";

/** A server on a free port of loopback, which can be closed while its connections are open. */
export class Listening extends Changes implements AsyncDisposable {
  /** It stays what it was when the server is closed. */
  port = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** @param server of HTTP, TLS or plain TCP, or what is done with each connection. */
  static of(server: Server | ((socket: Socket) => void), address?: "::1"): Promise<Listening> {
    return new Listening(typeof server === "function" ? createServer(server) : server).listen(address);
  }

  protected constructor(server: Server) {
    super();
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.changed();
      });
    });
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get origin(): string {
    return `http://${this.host}`;
  }

  /** How many connections are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Breaks every connection off. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks every connection off, also those to come. The port stays taken: nobody else answers there meanwhile. */
  goAway(): void {
    this.#server.on("connection", (socket: Socket) => socket.destroy());
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  protected async listen(address = "127.0.0.1"): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve));
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }
}

/** Hands a connection on to a port of loopback; either end closes with the other. @returns the far end. */
export function handOn(near: Duplex, port: number): Socket {
  const far = connect(port, "127.0.0.1").on("error", () => {});
  near.once("close", () => far.destroy());
  far.once("close", () => near.destroy());
  near.pipe(far).pipe(near);
  return far;
}
