import type { Readable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { TextExpectation } from "../../../pipeline/textExpectation.ts";
import type { Mask } from "../mask.ts";
import type { StepLog } from "../stepOutcome.ts";
import { OutputPipe } from "./outputPipe.ts";
import { OutputTail } from "./outputTail.ts";

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
    for (const { ended } of this.#pipes) log.lasts(ended);
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
