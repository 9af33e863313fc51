import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { exitCodes } from "../../contract/errors.ts";

/** The abort reason of a command's signal after Ctrl-C or a termination signal. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Aborts a signal at the first interrupt, for a graceful end; the second one exits at once. A suspension (Ctrl-Z), which Windows
 * hasn't, releases the terminal first.
 */
export class Interrupts implements Disposable {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #isDetached = isDetached();
  readonly #release: () => void;

  /** @param release gives up the terminal; undefined where nothing is drawn. */
  constructor(release: (() => void) | undefined) {
    this.#release = release ?? (() => {});
    for (const name of signalNames) process.on(name, this.#onInterrupt);
    if (release !== undefined && process.platform !== "win32") process.on("SIGTSTP", this.#onSuspend);
  }

  /** Aborted by the first interrupt. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** Aborted by the second one, right before the process exits: listeners can still print. */
  get leaving(): AbortSignal {
    return this.#second.signal;
  }

  [Symbol.dispose](): void {
    for (const name of signalNames) process.off(name, this.#onInterrupt);
    process.off("SIGTSTP", this.#onSuspend);
  }

  readonly #onInterrupt = (name: NodeJS.Signals): void => {
    if (name === "SIGHUP" && this.#isDetached) return;
    if (!this.signal.aborted) {
      this.#first.abort(new Interrupted("interrupted"));
      return;
    }
    this.#second.abort(this.signal.reason);
    process.exit(exitCodes.interrupted);
  };

  readonly #onSuspend = (): void => {
    this.#release();
    process.kill(process.pid, "SIGSTOP");
  };
}

/** Ctrl-C, `kill` or a shutdown, and a closed terminal. */
const signalNames = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Whether the caller has detached the tool from its terminal, as nohup does, so that closing that ends nothing. Node.js resets
 * which signals were ignored before it began, so the streams tell: none is a terminal, and the output goes to a file or nowhere.
 * Windows has no such thing.
 */
function isDetached(): boolean {
  if (process.platform === "win32") return false;
  if ([0, 1, 2].some((stream) => isatty(stream))) return false;
  return [1, 2]
    .map((stream) => fstatSync(stream))
    .every((stats) => stats.isFile() || stats.isCharacterDevice());
}
