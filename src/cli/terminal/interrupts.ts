import { exitCodes } from "../../contract/errors.ts";

/** Why a command's signal aborted: the person pressed Ctrl-C, or the system asks the tool to end. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Turns the first interrupt into an aborted signal, for an orderly end; the second one leaves at once. */
export class Interrupts implements Disposable {
  readonly #first = new AbortController();
  readonly #second = new AbortController();

  constructor() {
    for (const name of signalNames) process.on(name, this.#onInterrupt);
  }

  /** Aborted by the first interrupt. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second one, right before the process exits: a listener can say what it leaves behind. */
  get leaving(): AbortSignal {
    return this.#second.signal;
  }

  [Symbol.dispose](): void {
    for (const name of signalNames) process.off(name, this.#onInterrupt);
  }

  readonly #onInterrupt = (): void => {
    if (!this.signal.aborted) {
      this.#first.abort(new Interrupted("interrupted"));
      return;
    }
    this.#second.abort(this.signal.reason);
    process.exit(exitCodes.interrupted);
  };
}

/** Ctrl-C, what a system sends before it kills, and the closing of the terminal. */
const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Leaves the terminal in order when the person suspends the tool (Ctrl-Z): until it goes on, the terminal belongs to
 * others. Windows knows no such thing.
 */
export class Suspension implements Disposable {
  readonly #release: () => void;

  constructor(release: () => void, platform: NodeJS.Platform = process.platform) {
    this.#release = release;
    if (platform !== "win32") process.on("SIGTSTP", this.#onSuspend);
  }

  [Symbol.dispose](): void {
    process.off("SIGTSTP", this.#onSuspend);
  }

  readonly #onSuspend = (): void => {
    this.#release();
    process.kill(process.pid, "SIGSTOP");
  };
}
