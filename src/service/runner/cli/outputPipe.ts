import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { TextExpectation } from "../../../pipeline/textExpectation.ts";
import type { Mask } from "../mask.ts";
import { OutputSearch } from "./outputSearch.ts";
import type { OutputTail } from "./outputTail.ts";

/** After so much silence, in milliseconds, what is held back as the possible beginning of a secret is looked at again. */
const silenceMilliseconds = 200;

interface PipeDeps {
  readonly masked: ReturnType<Mask["stream"]>;
  /** Takes the output, masked. */
  readonly write: (masked: string) => void;
  readonly tail: OutputTail;
  readonly expected: TextExpectation | undefined;
}

/** One of a program's two outputs. Bytes that are no UTF-8 show as U+FFFD. */
export class OutputPipe {
  /** Settles when nobody can write to it any more, and all that was written has been passed on. */
  readonly ended: Promise<void>;
  pieces = 0;
  readonly #deps: PipeDeps;
  readonly #decoder = new TextDecoder();
  readonly #search: OutputSearch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(pipe: Readable, deps: PipeDeps) {
    this.#deps = deps;
    this.#search = deps.expected && new OutputSearch(deps.expected);
    pipe.on("data", (bytes: Uint8Array) => {
      this.pieces += 1;
      this.#add(this.#decoder.decode(bytes, { stream: true }));
    });
    this.ended = finished(pipe)
      .catch(() => {
        // A broken pipe says no more; what it said before counts.
      })
      .then(() => {
        this.#add(this.#decoder.decode());
        this.#pass(deps.masked.end());
        clearTimeout(this.#timer);
      });
  }

  /** The step is over: what comes now still goes to the log, but is not looked at. */
  close(): void {
    this.#deps.tail.add(this.#deps.masked.rest());
    this.#isClosed = true;
  }

  isAsExpected(): boolean {
    return this.#search?.end() ?? true;
  }

  #add(text: string): void {
    this.#pass(this.#deps.masked.write(text));
    if (!this.#isClosed) this.#search?.write(text);
    this.#timer ??= setTimeout(() => this.#pass(this.#deps.masked.pause()), silenceMilliseconds).unref();
    this.#timer.refresh();
  }

  #pass(masked: string): void {
    this.#deps.write(masked);
    if (!this.#isClosed) this.#deps.tail.add(masked);
  }
}
