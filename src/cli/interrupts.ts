import { exitCodes } from "./exitCodes.ts";

/** Why a command's signal aborted: the person pressed Ctrl-C, or the system asks the tool to end. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Turns the first interrupt into an aborted signal, for an orderly end; the second one leaves at once. */
export class Interrupts implements Disposable {
  readonly #controller = new AbortController();

  constructor() {
    for (const name of signalNames) process.on(name, this.#onInterrupt);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const name of signalNames) process.off(name, this.#onInterrupt);
  }

  readonly #onInterrupt = (): void => {
    if (this.signal.aborted) process.exit(exitCodes.interrupted);
    this.#controller.abort(new Interrupted("interrupted"));
  };
}

const signalNames = ["SIGINT", "SIGTERM"] as const;
