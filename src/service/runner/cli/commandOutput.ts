import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { TextExpectation } from "../../../pipeline/textExpectation.ts";
import type { Mask } from "../mask.ts";
import { OutputSearch } from "./outputSearch.ts";
import { OutputTail } from "./outputTail.ts";

/** How long both pipes have to be silent, and how often a program in the background may break the silence. */
const silenceMilliseconds = 50;
const mostInterruptions = 20;

/**
 * Reads what a program writes, as fast as it writes, and keeps only the end of it. What a program in the background
 * writes after the step's end is read as well, and dropped: a full pipe would stop that program.
 */
export class CommandOutput {
  readonly #tail = new OutputTail();
  readonly #pipes: readonly OutputPipe[];

  constructor(pipes: readonly Readable[], mask: Mask, expected: TextExpectation | undefined) {
    this.#pipes = pipes.map((pipe) => new OutputPipe(pipe, mask, this.#tail, expected));
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

/** One of a program's two outputs. Bytes that are no UTF-8 show as U+FFFD. */
class OutputPipe {
  readonly ended: Promise<void>;
  pieces = 0;
  readonly #tail: OutputTail;
  readonly #decoder = new TextDecoder();
  readonly #masked: ReturnType<Mask["stream"]>;
  readonly #search: OutputSearch | undefined;
  #closed = false;

  constructor(pipe: Readable, mask: Mask, tail: OutputTail, expected: TextExpectation | undefined) {
    this.#tail = tail;
    this.#masked = mask.stream();
    this.#search = expected && new OutputSearch(expected);
    pipe.on("data", (bytes: Uint8Array) => {
      this.pieces += 1;
      if (!this.#closed) this.#add(this.#decoder.decode(bytes, { stream: true }));
    });
    this.ended = finished(pipe).catch(() => {
      // A broken pipe says no more; what it said before counts.
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#add(this.#decoder.decode());
    this.#tail.add(this.#masked.end());
    this.#closed = true;
  }

  isAsExpected(): boolean {
    return this.#search?.end() ?? true;
  }

  #add(text: string): void {
    this.#tail.add(this.#masked.write(text));
    this.#search?.write(text);
  }
}
