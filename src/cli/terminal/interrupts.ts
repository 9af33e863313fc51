import { exitCodes } from "../../contract/errors.ts";

/** The reason of a command's signal: Ctrl-C, or the system asks the tool to end. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** Aborts a signal at the first interrupt, for an orderly end; the second one exits at once. */
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

  /** Aborted by the second one, right before the process exits: listeners can still print what is left. */
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

/** Ctrl-C, a shutdown or `kill`, and the closing of the terminal. */
const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Releases the terminal when the person suspends the tool (Ctrl-Z), which Windows doesn't have.
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
