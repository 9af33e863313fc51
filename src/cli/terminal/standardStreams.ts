import { errorTypes } from "../../contract/errors.ts";

/** Standard output and error of this process, and what became of them. They are watched until it ends. */
export class StandardStreams {
  readonly out = process.stdout;
  readonly err = process.stderr;
  readonly #unread = new AbortController();
  #isBroken = false;

  constructor() {
    this.out.on("error", this.#onOutError);
    // Prose that can't be written is not worth the run that it tells of.
    this.err.on("error", () => {});
  }

  /** Aborted once nobody reads standard output any more. */
  get unread(): AbortSignal {
    return this.#unread.signal;
  }

  /** A command's own code, unless its result was lost: its caller must not take that for told. */
  exitCode(code: number): number {
    return this.#isBroken ? errorTypes.internal.exitCode : code;
  }

  /** Told once, and ends nothing: a run that is being followed is followed to its end all the same. */
  readonly #onOutError = ({ code, message }: NodeJS.ErrnoException): void => {
    // A reader that has seen enough (`| head`) is no error, and neither is a terminal that was closed.
    if (code === "EPIPE" || code === "EOF" || (code === "EIO" && this.out.isTTY)) {
      this.#unread.abort();
      return;
    }
    if (!this.#isBroken) this.err.write(`pipeline: the output can't be written: ${message}\n`);
    this.#isBroken = true;
    process.exitCode = this.exitCode(0);
  };
}
