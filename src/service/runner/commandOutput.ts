import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { TextExpectation } from "../../pipeline/schema/values.ts";
import type { Mask } from "./mask.ts";
import { OutputTail } from "./outputTail.ts";
import type { StepLog } from "./stepContext.ts";
import { PatternFault, searchFor } from "./textSearch.ts";

/** How long both pipes have to be silent, and how often a program in the background may break the silence. */
const silenceMilliseconds = 50;
const mostInterruptions = 20;

interface OutputDeps {
  readonly mask: Mask;
  readonly log: StepLog;
  /** What the output has to hold. */
  readonly expected: TextExpectation | undefined;
}

/**
 * Reads what a program writes, as fast as it writes, and passes it on to the step's log. What a program in the
 * background writes after the step's end goes there too, but is no longer looked at.
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
   * Resolves when the pipes have ended, or have had nothing more to say since the program ended: a program that it
   * left in the background may hold them open for as long as the run takes.
   */
  async drained(): Promise<void> {
    const ended = Promise.all(this.#pipes.map((pipe) => pipe.ended)).then(() => true);
    for (let interruptions = 0; interruptions < mostInterruptions; interruptions += 1) {
      const before = this.#pieces();
      if (await Promise.race([ended, pause(silenceMilliseconds, false)])) break;
      // On a busy machine the pause may be over before the pipes had their turn to be read; now they have had it.
      await nextTurn();
      if (this.#pieces() === before) break;
    }
    for (const pipe of this.#pipes) pipe.close();
  }

  /** Whether the output held what was expected. Both pipes are looked at, each by itself. */
  isAsExpected(): boolean {
    return this.#pipes.some((pipe) => pipe.isAsExpected());
  }

  /** The end of the output, masked. */
  tail(): string {
    return this.#tail.text();
  }

  #pieces(): number {
    return this.#pipes.reduce((sum, pipe) => sum + pipe.pieces, 0);
  }
}

/** After so much silence, in milliseconds, what is held back as the possible beginning of a secret is looked at again. */
const heldBackMilliseconds = 200;

interface PipeDeps {
  readonly masked: ReturnType<Mask["stream"]>;
  /** Takes the output, masked. */
  readonly write: (masked: string) => void;
  readonly tail: OutputTail;
  readonly expected: TextExpectation | undefined;
}

/** One of a program's two outputs. Bytes that are no UTF-8 show as U+FFFD. */
class OutputPipe {
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
    this.#timer ??= setTimeout(() => this.#pass(this.#deps.masked.pause()), heldBackMilliseconds).unref();
    this.#timer.refresh();
  }

  #pass(masked: string): void {
    this.#deps.write(masked);
    if (!this.#isClosed) this.#deps.tail.add(masked);
  }
}

/** A line longer than this is looked at in parts. */
const longestLine = 64 * 1024;

/** Looks for what an output is expected to hold while it streams by, keeping only what the next piece may complete. */
export class OutputSearch {
  readonly #expectation: TextExpectation;
  readonly #isIn: (text: string) => boolean;
  #rest = "";
  #found: boolean | PatternFault = false;

  constructor(expectation: TextExpectation) {
    this.#expectation = expectation;
    this.#isIn = searchFor(expectation);
  }

  write(piece: string): void {
    if (this.#found !== false) return;
    const text = this.#rest + piece;
    switch (this.#expectation.kind) {
      case "contains": {
        this.#look(text);
        const { length } = this.#expectation.text;
        this.#rest = length > 1 ? text.slice(1 - length) : "";
        return;
      }
      case "matches": {
        const end = text.length > longestLine ? text.length : text.lastIndexOf("\n") + 1;
        if (end > 0) this.#look(text.slice(0, end));
        this.#rest = text.slice(end);
        return;
      }
      default:
        this.#expectation satisfies never;
    }
  }

  /**
   * Whether the output, which is complete now, held what it should.
   * @throws PatternFault
   */
  end(): boolean {
    if (this.#found === false) this.#look(this.#rest);
    if (this.#found instanceof PatternFault) throw this.#found;
    return this.#found;
  }

  #look(text: string): void {
    try {
      this.#found = this.#isIn(text);
    } catch (error) {
      if (!(error instanceof PatternFault)) throw error;
      // Reported by `end`: the program continues, and its output is still read.
      this.#found = error;
    }
  }
}
