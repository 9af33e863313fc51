import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import type { Mask } from "../mask/mask.ts";
import { OutputSearch } from "../output/outputSearch.ts";
import { OutputTail } from "../output/outputTail.ts";
import type { StepLog } from "../step/stepContext.ts";

/** How long both pipes have to be silent, and how often a background program may interrupt that. */
const silenceMilliseconds = 50;
const mostInterruptions = 20;

interface OutputDeps {
  readonly mask: Mask;
  readonly log: StepLog;
  /** What the output has to contain. */
  readonly expected: readonly TextExpectation[] | undefined;
}

/**
 * Reads a program's output without delay and passes it to the step's log. Output of background programs after the step's
 * end is logged too, but no longer searched.
 */
export class CommandOutput {
  readonly #tail = new OutputTail();
  readonly #pipes: readonly OutputPipe[];

  constructor(
    { stdout, stderr }: { readonly stdout: Readable; readonly stderr: Readable },
    { mask, log, expected }: OutputDeps,
  ) {
    const open = (stream: "stdout" | "stderr", pipe: Readable) => {
      const write = (masked: string) => log.write(stream, masked);
      return new OutputPipe(pipe, { masked: mask.stream(), write, tail: this.#tail, expected });
    };
    this.#pipes = [open("stdout", stdout), open("stderr", stderr)];
    for (const { ended } of this.#pipes) log.waitFor(ended);
  }

  /**
   * Resolves when the pipes have closed, or are silent: a background program may hold them open for as long as the run
   * takes.
   */
  async drained(): Promise<void> {
    const ended = Promise.all(this.#pipes.map((pipe) => pipe.ended)).then(() => true);
    for (let interruptions = 0; interruptions < mostInterruptions; interruptions += 1) {
      const before = this.#pieces();
      if (await Promise.race([ended, pause(silenceMilliseconds, false)])) break;
      // On a busy machine the pause may end before the pipes were polled; after this they were.
      await nextTurn();
      if (this.#pieces() === before) break;
    }
    for (const pipe of this.#pipes) pipe.close();
  }

  /** Whether the output of one of the pipes has the expectation of this index. */
  isAsExpected(index: number): boolean {
    return this.#pipes.some((pipe) => pipe.isAsExpected(index));
  }

  /** The end of the output, masked. */
  tail(): string {
    return this.#tail.text();
  }

  #pieces(): number {
    return this.#pipes.reduce((sum, pipe) => sum + pipe.pieces, 0);
  }
}

interface PipeDeps {
  readonly masked: ReturnType<Mask["stream"]>;
  /** Takes the output, masked. */
  readonly write: (masked: string) => void;
  readonly tail: OutputTail;
  readonly expected: readonly TextExpectation[] | undefined;
}

/** One of a program's two outputs. Invalid UTF-8 becomes U+FFFD. */
class OutputPipe {
  /** Settles when the pipe is closed and all of it has been passed on. */
  readonly ended: Promise<void>;
  pieces = 0;
  readonly #deps: PipeDeps;
  readonly #decoder = new TextDecoder();
  readonly #searches: readonly OutputSearch[];
  #isClosed = false;

  constructor(pipe: Readable, deps: PipeDeps) {
    this.#deps = deps;
    this.#searches = (deps.expected ?? []).map((expected) => new OutputSearch(expected));
    pipe.on("data", (bytes: Uint8Array) => {
      this.pieces += 1;
      this.#add(this.#decoder.decode(bytes, { stream: true }));
    });
    this.ended = finished(pipe)
      .catch(() => {
        // Ignored: what was read before the error counts.
      })
      .then(() => {
        this.#add(this.#decoder.decode());
        this.#pass(deps.masked.cut());
      });
  }

  /** Ends the search. Later output only goes to the log. */
  close(): void {
    this.#deps.tail.add(this.#deps.masked.rest());
    this.#isClosed = true;
  }

  isAsExpected(index: number): boolean {
    return this.#searches[index]?.end() ?? true;
  }

  #add(text: string): void {
    this.#pass(this.#deps.masked.write(text));
    if (!this.#isClosed) for (const search of this.#searches) search.write(text);
  }

  #pass(masked: string): void {
    this.#deps.write(masked);
    if (!this.#isClosed) this.#deps.tail.add(masked);
  }
}
