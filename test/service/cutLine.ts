import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A line between a client and a service on loopback that a test can cut, and mend to wherever the service is by then. */
export class CutLine implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((near) => {
    const target = this.#target();
    if (target === undefined) {
      near.destroy();
      return;
    }
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  readonly #target: () => string | undefined;

  /** @param target the service's address; undefined while the line is cut. */
  static async lay(target: () => string | undefined): Promise<CutLine> {
    const line = new CutLine(target);
    await new Promise<void>((resolve) => line.#server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  private constructor(target: () => string | undefined) {
    this.#target = target;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`);
  }

  /** Breaks every connection off. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
