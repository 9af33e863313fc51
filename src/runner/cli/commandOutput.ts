import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { type Json, parseJson } from "../../pipeline/expression/value.ts";
import type { outputs } from "../../pipeline/file/expectation.ts";
import type { TextExpectation } from "../../pipeline/file/values.ts";
import type { Mask } from "../mask/mask.ts";
import { OutputTail, readableText } from "../output/readableText.ts";
import { OutputSearch } from "../output/textSearch.ts";
import { largestResult, type StepContext, type StepResult, tooLarge } from "../step/stepContext.ts";

/** A piece of what a program has printed, not masked. */
interface Printed {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** A text that one of the outputs has to hold, or either. */
export interface ExpectedOutput {
  readonly where: (typeof outputs)[number];
  readonly expectation: TextExpectation;
}

/** How long both pipes have to be silent, and how often a background program may interrupt that. */
const silenceMilliseconds = 50;
const mostInterruptions = 20;

interface OutputDeps extends Pick<StepContext, "mask" | "log" | "results"> {
  readonly expected: readonly ExpectedOutput[];
}

/**
 * Reads a program's output without delay and passes it to the step's log. Output of background programs after the step's
 * end is logged too, but no longer searched.
 */
export class CommandOutput {
  readonly #tail = new OutputTail();
  readonly #pipes: Readonly<Record<Printed["stream"], OutputPipe>>;
  readonly #mask: Mask;
  /** What was printed so far, in its order; undefined where nobody needs it. */
  #copy: Printed[] | undefined;
  #length = 0;

  constructor(
    { stdout, stderr }: { readonly stdout: Readable; readonly stderr: Readable },
    { mask, log, results, expected }: OutputDeps,
  ) {
    this.#mask = mask;
    if (results.isNeeded) this.#copy = [];
    const open = (stream: Printed["stream"], pipe: Readable) =>
      new OutputPipe(pipe, {
        masked: mask.stream(),
        write: (masked) => log.write(stream, masked),
        tail: this.#tail,
        expected: expected.filter(({ where }) => where === "output" || where === stream),
        isHeld: results.isSecret,
        keep: (text) => this.#keep({ stream, text }),
      });
    this.#pipes = { stdout: open("stdout", stdout), stderr: open("stderr", stderr) };
    for (const { ended } of Object.values(this.#pipes)) log.waitFor(ended);
  }

  /** What a cli step gives to expressions: like a shell's `$(…)`, without the line ends at the end. */
  result(exitCode: number | null): StepResult {
    const values = exitCode === null ? {} : { "exit-code": exitCode };
    if (this.#length > largestResult) {
      const names = ["output", "stdout", "stderr", "json"] as const;
      return { values, missing: Object.fromEntries(names.map((name) => [name, tooLarge])), size: 0 };
    }
    const textOf = (stream?: Printed["stream"]) =>
      (this.#copy ?? [])
        .filter((printed) => stream === undefined || printed.stream === stream)
        .map(({ text }) => text)
        .join("");
    const shown = (text: string) => readableText(text).replace(/\n+$/, "");
    const stdout = textOf("stdout");
    const parsed = parseJson(stdout);
    const json: Readonly<Record<string, Json>> = parsed === undefined ? {} : { json: parsed.value };
    const texts = { output: shown(textOf()), stdout: shown(stdout), stderr: shown(textOf("stderr")) };
    return { values: { ...values, ...texts, ...json }, size: 2 * this.#length };
  }

  /** Ends the search, and lets through what was held back until its secrets were known. Later output only goes to the log. */
  close(): void {
    const printed = this.#copy ?? [];
    this.#copy = undefined;
    const isHidden = this.#mask.hidesAll || this.#length > largestResult;
    if (!isHidden) for (const { stream, text } of printed) this.#pipes[stream].release(text);
    for (const pipe of Object.values(this.#pipes)) pipe.close(isHidden);
  }

  #keep(printed: Printed): void {
    if (this.#copy === undefined) return;
    this.#length += printed.text.length;
    if (this.#length > largestResult) this.#copy = [];
    else this.#copy.push(printed);
  }

  /**
   * Resolves when the pipes have closed, or are silent: a background program may hold them open for as long as the run
   * takes.
   */
  async drained(): Promise<void> {
    const ended = Promise.all(Object.values(this.#pipes).map((pipe) => pipe.ended)).then(() => true);
    for (let interruptions = 0; interruptions < mostInterruptions; interruptions += 1) {
      const before = this.#pieces();
      if (await Promise.race([ended, pause(silenceMilliseconds, false)])) break;
      // On a busy machine the pause may end before the pipes were polled; after this they were.
      await nextTurn();
      if (this.#pieces() === before) break;
    }
  }

  /** Whether the output, now that it is over, is as expected. @throws PatternFault */
  isAsExpected(expected: ExpectedOutput): boolean {
    return Object.values(this.#pipes).some((pipe) => pipe.search(expected)?.end());
  }

  /** Whether the output so far is as expected already. @throws PatternFault */
  isAsExpectedSoFar(expected: ExpectedOutput): boolean {
    return Object.values(this.#pipes).some((pipe) => pipe.search(expected)?.soFar());
  }

  /** The end of the output, masked. */
  tail(): string {
    return this.#tail.text();
  }

  #pieces(): number {
    return Object.values(this.#pipes).reduce((sum, pipe) => sum + pipe.pieces, 0);
  }
}

interface PipeDeps {
  readonly masked: ReturnType<Mask["stream"]>;
  readonly write: (masked: string) => void;
  readonly tail: OutputTail;
  readonly expected: readonly ExpectedOutput[];
  /** Whether nothing is passed on before it is released. */
  readonly isHeld: boolean;
  readonly keep: (text: string) => void;
}

/** One of a program's two outputs. Invalid UTF-8 becomes U+FFFD. */
class OutputPipe {
  /** Settles when the pipe is closed and all of it has been passed on. */
  readonly ended: Promise<void>;
  pieces = 0;
  readonly #deps: PipeDeps;
  readonly #decoder = new TextDecoder();
  readonly #searches: ReadonlyMap<ExpectedOutput, OutputSearch>;
  #isClosed = false;
  #isHeld: boolean;
  #isOver = false;

  constructor(pipe: Readable, deps: PipeDeps) {
    this.#deps = deps;
    this.#isHeld = deps.isHeld;
    this.#searches = new Map(deps.expected.map((one) => [one, new OutputSearch(one.expectation)]));
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
        this.#isOver = true;
        if (!this.#isHeld) this.#pass(deps.masked.cut());
      });
  }

  /** Passes a piece on that was held back. */
  release(text: string): void {
    if (this.#isHeld) this.#pass(this.#deps.masked.write(text));
  }

  /** Ends the search. Later output only goes to the log. @param isHidden whether what is held back, and all later, is dropped. */
  close(isHidden: boolean): void {
    if (this.#isHeld && !isHidden) {
      this.#isHeld = false;
      if (this.#isOver) this.#pass(this.#deps.masked.cut());
    }
    if (!this.#isHeld) this.#deps.tail.add(this.#deps.masked.rest());
    else if (this.pieces > 0) this.#deps.tail.add("***");
    this.#isClosed = true;
  }

  search(expected: ExpectedOutput): OutputSearch | undefined {
    return this.#searches.get(expected);
  }

  #add(text: string): void {
    if (!this.#isHeld) this.#pass(this.#deps.masked.write(text));
    this.#deps.keep(text);
    if (!this.#isClosed) for (const search of this.#searches.values()) search.write(text);
  }

  #pass(masked: string): void {
    this.#deps.write(masked);
    if (!this.#isClosed) this.#deps.tail.add(masked);
  }
}
