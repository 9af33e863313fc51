import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { reset } from "./reset.ts";

/** What is wrong with one connection. Numbers of bytes are counted over all its requests. */
export type LineFault =
  | { readonly kind: "none" }
  /** Broken before a byte is taken. */
  | { readonly kind: "refuse" }
  /** Everything arrives so much later, in milliseconds. */
  | { readonly kind: "delay"; readonly milliseconds: number }
  /** Bytes come one by one, each after a millisecond. */
  | { readonly kind: "dribble" }
  /** Broken once so many bytes have been sent; the service gets those. */
  | { readonly kind: "cut request"; readonly bytes: number }
  /** The request arrives; broken once so many bytes of the answer have come. */
  | { readonly kind: "cut reply"; readonly bytes: number }
  /** After so many bytes everything is dropped silently. */
  | { readonly kind: "swallow request"; readonly bytes: number }
  | { readonly kind: "swallow reply"; readonly bytes: number }
  /** Everything that is sent arrives once more, over another connection, whose answers are lost. */
  | { readonly kind: "twice" };

export interface BadLineDeps {
  /** The service's address; undefined while none runs. */
  readonly target: () => URL | undefined;
  /** What is wrong with the next connection. */
  readonly next: () => LineFault;
}

/** A proxy to a service on loopback that produces network faults on demand. */
export class BadLine implements AsyncDisposable {
  readonly #deps: BadLineDeps;
  readonly #sockets = new Set<Socket>();
  /** What was sent over each connection that drops data. */
  readonly #swallowing: Buffer[][] = [];
  readonly #server = createServer({ allowHalfOpen: true }, (near) => this.#carry(near));
  #isOut = false;

  static async open(deps: BadLineDeps): Promise<BadLine> {
    const proxy = new BadLine(deps);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(deps: BadLineDeps) {
    this.#deps = deps;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`);
  }

  /** How many connections there are, on both sides together. */
  get connections(): number {
    return this.#sockets.size;
  }

  /**
   * Whether a text was sent over a connection that has swallowed what followed, or the answer: of that alone nobody was told
   * how it went on.
   */
  hasSwallowed(text: string): boolean {
    return this.#swallowing.some((sent) => Buffer.concat(sent).includes(text));
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets) reset(socket);
  }

  /** During an outage every connection is broken at once. */
  setOut(isOut: boolean): void {
    this.#isOut = isOut;
    if (isOut) this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
    );
    this.cut();
    await Promise.all([new Promise((resolve) => this.#server.close(resolve)), ...closed]);
  }

  #carry(near: Socket): void {
    this.#hold(near);
    const target = this.#deps.target();
    const fault = this.#isOut ? ({ kind: "refuse" } as const) : this.#deps.next();
    if (target === undefined || fault.kind === "refuse") {
      reset(near);
      return;
    }
    const far = this.#hold(connect({ port: Number(target.port), host: "127.0.0.1", allowHalfOpen: true }));
    const breakOff = (): void => {
      reset(near);
      reset(far);
    };
    // A line that swallows doesn't tell the service that the caller has left.
    if (fault.kind !== "swallow reply" && fault.kind !== "swallow request") near.once("close", breakOff);
    far.once("close", () => near.destroy());
    const up = fault.kind === "cut request" || fault.kind === "swallow request" ? fault.bytes : undefined;
    const down = fault.kind === "cut reply" || fault.kind === "swallow reply" ? fault.bytes : undefined;
    const isSilent = fault.kind === "swallow request" || fault.kind === "swallow reply";
    const beyond = isSilent ? () => {} : breakOff;
    if (isSilent) {
      const sent: Buffer[] = [];
      this.#swallowing.push(sent);
      near.on("data", (bytes: Buffer) => sent.push(bytes));
    }
    if (fault.kind === "twice") this.#sendTwice(near, target);
    void pass(near, far, { fault, most: up, beyond });
    void pass(far, near, { fault, most: down, beyond });
  }

  #sendTwice(near: Socket, target: URL): void {
    const other = this.#hold(connect(Number(target.port), "127.0.0.1"));
    near.on("data", (bytes: Buffer) => other.write(bytes));
    near.once("close", () => other.destroy());
    other.resume();
  }

  #hold(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => this.#sockets.delete(socket));
    socket.setNoDelay(true);
    return socket;
  }
}

/** Passes on what one side sends, in its order, until so many bytes were passed. */
async function pass(
  from: Socket,
  to: Socket,
  how: { readonly fault: LineFault; readonly most: number | undefined; readonly beyond: () => void },
): Promise<void> {
  const { fault, most, beyond } = how;
  let passed = 0;
  let isBeyond = false;
  let writing = Promise.resolve();
  const write = async (bytes: Buffer): Promise<void> => {
    if (fault.kind === "delay") await pause(fault.milliseconds);
    const pieces = fault.kind === "dribble" ? [...bytes].map((byte) => Buffer.from([byte])) : [bytes];
    for (const piece of pieces) {
      if (fault.kind === "dribble") await pause(1);
      if (to.destroyed) return;
      await new Promise((resolve) => to.write(piece, resolve));
    }
  };
  if (most === 0) from.once("data", beyond);
  from.on("data", (bytes: Buffer) => {
    if (isBeyond || most === 0) return;
    const piece = most === undefined ? bytes : bytes.subarray(0, most - passed);
    passed += piece.length;
    writing = writing.then(() => write(piece));
    if (most === undefined || passed < most) return;
    isBeyond = true;
    writing = writing.then(beyond);
  });
  from.once("end", () => {
    if (most !== undefined && (isBeyond || most === 0)) return;
    writing = writing.then(() => {
      to.end();
    });
  });
}
