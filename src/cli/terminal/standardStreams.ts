import { errorTypes } from "../../contract/errors.ts";

/** The process's standard output and error, with their errors handled until it ends. */
export class StandardStreams {
  readonly out = process.stdout;
  readonly err = process.stderr;
  readonly #unread = new AbortController();
  #isBroken = false;

  constructor() {
    this.out.on("error", this.#onOutError);
    // Ignored: a lost message must not end the run that it is about.
    this.err.on("error", () => {});
  }

  /** Aborted once the reader of standard output is gone. */
  get unread(): AbortSignal {
    return this.#unread.signal;
  }

  /** The command's code, or `internal` if its result couldn't be written: the caller must not miss that. */
  exitCode(code: number): number {
    return this.#isBroken ? errorTypes.internal.exitCode : code;
  }

  /** Warns once and ends nothing: a run is still followed to its end. */
  readonly #onOutError = ({ code, message }: NodeJS.ErrnoException): void => {
    // A reader that stops early (`| head`) is no error, and neither is a closed terminal.
    if (code === "EPIPE" || code === "EOF" || (code === "EIO" && this.out.isTTY)) {
      this.#unread.abort();
      return;
    }
    if (!this.#isBroken) this.err.write(`pipeline: the output can't be written: ${message}\n`);
    this.#isBroken = true;
    process.exitCode = this.exitCode(0);
  };
}
