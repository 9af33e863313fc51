import { connect, createServer, type Socket } from "node:net";
import { Listening } from "../listening.ts";

/** A line between a client and a service on loopback that a test can cut, and mend to wherever the service is by then. */
export class CutLine extends Listening {
  readonly #nearEnds = new Set<Socket>();
  readonly #farEnds = new Set<Socket>();
  /** Those whose other end isn't told of theirs. */
  readonly #lost = new WeakSet<Socket>();
  readonly #target: () => string | undefined;
  #state: "open" | "cut" | "silent" = "open";

  /** @param target the service's address; undefined while the line is cut. */
  static lay(target: () => string | undefined): Promise<CutLine> {
    return new CutLine(target).listen();
  }

  private constructor(target: () => string | undefined) {
    super(createServer((near) => this.#carry(near)));
    this.#target = target;
  }

  override cut(): void {
    for (const socket of [...this.#nearEnds, ...this.#farEnds]) socket.destroy();
  }

  /**
   * `cut` breaks every connection off, also new ones. While it is `silent`, nothing passes and neither end is told, over old
   * connections and new ones: those stay half-open when it is `open` again, since then the service's end is closed, as its
   * keep-alive would, and the client's end never.
   */
  become(state: "open" | "cut" | "silent"): void {
    this.#state = state;
    if (state === "cut") this.cut();
    if (state === "silent") for (const socket of [...this.#nearEnds, ...this.#farEnds]) this.#lose(socket);
    if (state === "open") for (const far of this.#farEnds) if (this.#lost.has(far)) far.destroy();
  }

  #carry(near: Socket): void {
    this.#hold(near, this.#nearEnds);
    if (this.#state === "silent") {
      this.#lose(near);
      return;
    }
    const target = this.#state === "cut" ? undefined : this.#target();
    if (target === undefined) {
      near.destroy();
      return;
    }
    const far = this.#hold(connect(Number(new URL(target).port), "127.0.0.1"), this.#farEnds);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.once("close", () => this.#lost.has(one) || other.destroy());
      one.pipe(other);
    }
  }

  #hold(socket: Socket, ends: Set<Socket>): Socket {
    ends.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => ends.delete(socket));
    return socket;
  }

  #lose(socket: Socket): void {
    this.#lost.add(socket);
    socket.unpipe();
    socket.resume();
  }
}
