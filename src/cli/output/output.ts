import { describeError, errorTypes, exitCodes, PipelineError, withNext } from "../../contract/errors.ts";
import type { Hint, RefusalReport } from "../../contract/refusal.ts";
import { toWire } from "../../contract/wire.ts";
import type { Environment } from "../../project/environment.ts";
import { escapeControlCharacters, sanitizeForTerminal } from "../../text/controlCharacters.ts";
import { Interrupted } from "../terminal/interrupts.ts";
import {
  liveRegion,
  type Stream,
  type Terminal,
  type TerminalFlags,
  terminalOf,
} from "../terminal/terminal.ts";
import type { CommandName, Facts } from "./outputs.ts";

export interface OutputFlags extends TerminalFlags {
  /** Whether standard output holds a single JSON object. */
  readonly json: boolean;
}

export interface OutputOptions {
  readonly out: Stream;
  readonly err: Stream;
  readonly env: Environment;
  readonly flags: OutputFlags;
}

/**
 * Prints everything. Results go to standard output, messages and progress to standard error, so that a script can read the former
 * while a person reads the latter (contract: "The command-line tool"). Control characters in texts are replaced.
 */
export class Output {
  readonly json: boolean;
  /** Whether notes and passing lines are turned off. */
  readonly isQuiet: boolean;
  readonly out: Terminal;
  readonly err: Terminal;
  readonly #outStream: Stream;
  readonly #errStream: Stream;
  readonly #warnings: string[] = [];
  readonly #region: ReturnType<typeof liveRegion>;
  readonly #draining = new Map<Stream, Promise<void>>();

  constructor({ out, err, env, flags }: OutputOptions) {
    this.#outStream = out;
    this.#errStream = err;
    this.out = terminalOf(out, env, flags);
    this.err = terminalOf(err, env, flags);
    this.json = flags.json;
    this.isQuiet = flags.quiet;
    this.#region = liveRegion(err, this.err);
  }

  /** Prints the command's result: the object `facts` with `--json`, otherwise the text. */
  result<C extends CommandName>(command: C, facts: Facts<C>, text: string): void {
    if (this.json) this.#printObject({ ok: true, command, ...facts, warnings: this.#warnings });
    else this.text(text);
  }

  /** Prints a result with exactly the contract's fields, so without `warnings`. */
  exactResult<C extends CommandName>(command: C, facts: Facts<C>, text: string): void {
    if (this.json) this.#printObject({ ok: true, command, ...facts });
    else this.text(text);
  }

  /** Prints lines of a result on standard output; nothing for an empty text or with `--json`. */
  text(text: string): void {
    if (text !== "") this.line(text);
  }

  /** Prints one line of a result, which may be empty. Nothing with `--json`. */
  line(line: string): void {
    if (this.json) return;
    this.#makeRoom();
    this.#outStream.write(`${sanitizeForTerminal(line, this.out.hasColor)}\n`);
  }

  /** Prints a part of a result unchanged, without adding a line end. Nothing with `--json`. */
  piece(text: string): void {
    if (this.json) return;
    this.#makeRoom();
    this.#outStream.write(text);
  }

  /**
   * Resolves once neither standard output nor standard error needs a drain. Commands with unlimited output await it, so that
   * unread output doesn't fill the memory.
   * @throws the signal's reason.
   */
  async drained(signal: AbortSignal): Promise<void> {
    const full = [this.#outStream, this.#errStream].filter((stream) => stream.writableNeedDrain === true);
    if (full.length === 0) return;
    signal.throwIfAborted();
    const drained = Promise.all(full.map((stream) => this.#drained(stream)));
    const given = Promise.withResolvers<never>();
    const giveUp = (): void => given.reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    await Promise.race([drained, given.promise]).finally(() => signal.removeEventListener("abort", giveUp));
  }

  /** Shared by all waiting calls, since a stream warns about many listeners. */
  #drained(stream: Stream): Promise<void> {
    const known = this.#draining.get(stream);
    if (known !== undefined) return known;
    const drained = new Promise<void>((resolve) => stream.once?.("drain", resolve)).finally(() =>
      this.#draining.delete(stream),
    );
    this.#draining.set(stream, drained);
    return drained;
  }

  /** Prints the refusal object, even without `--json`: scripts detect a refusal by it. */
  refusal(
    report: RefusalReport,
    { reason, hints }: { readonly reason: string; readonly hints: readonly string[] },
  ): void {
    this.#region.clear();
    this.#printObject(report);
    this.#errStream.write(`pipeline: ${sanitizeForTerminal(reason, false)}\n`);
    for (const hint of hints) this.#errStream.write(`Hint: ${sanitizeForTerminal(hint, false)}\n`);
  }

  /** Prints an error and the next step; `facts` hold the known part of the result. */
  failure(command: string, failure: Failure, facts: Readonly<Record<string, unknown>> = {}): void {
    this.#region.clear();
    const { type, message, next, hints = [] } = failure;
    if (this.json) {
      // The hints say the same as `next`, in a form for programs.
      const error = { type, message: hints.length > 0 ? message : withNext(message, next) };
      this.#printObject({ ok: false, command, error, hints, ...facts, warnings: this.#warnings });
      return;
    }
    this.#errStream.write(`pipeline: ${sanitizeForTerminal(message, false)}\n`);
    if (next !== "") this.#errStream.write(`${sanitizeForTerminal(next, false)}\n`);
  }

  /** Prints a line of progress or a message; nothing with `--quiet`. */
  note(line: string): void {
    if (!this.isQuiet) this.aside(line);
  }

  /** Prints a line of a result on standard error because standard output is reserved; also with `--quiet`. */
  aside(line: string): void {
    this.#region.clear();
    this.#errStream.write(`${sanitizeForTerminal(line, this.err.hasColor)}\n`);
  }

  /** Draws lines that the next call replaces; nothing where standard error isn't a live terminal. */
  passing(...lines: readonly string[]): void {
    if (this.err.isLive) this.#region.draw(lines.map((line) => sanitizeForTerminal(line, this.err.hasColor)));
  }

  /** Erases the passing lines and shows the cursor. */
  release(): void {
    this.#region.release();
  }

  /** Prints a warning, also with `--quiet`, and adds it to `warnings` with `--json`. */
  warn(line: string): void {
    this.#warnings.push(line);
    this.aside(`pipeline: warning: ${sanitizeForTerminal(line, false)}`);
  }

  #printObject(value: unknown): void {
    this.#makeRoom();
    this.#outStream.write(`${jsonLine(value)}\n`);
  }

  /** Erases the passing lines, but only before output to the terminal. */
  #makeRoom(): void {
    if (this.#outStream.isTTY === true) this.#region.clear();
  }
}

export interface Failure {
  readonly type: string;
  readonly message: string;
  /** The next step, as a sentence; may be empty. */
  readonly next: string;
  readonly hints?: readonly Hint[];
}

/** Converts an error to a failure and its exit code (contract: "The command-line tool"). */
export function failureOf(error: unknown): { readonly failure: Failure; readonly exitCode: number } {
  if (error instanceof PipelineError) {
    const { type, message, next } = error;
    return { failure: { type, message, next }, exitCode: errorTypes[type].exitCode };
  }
  const failure = { type: "internal", message: describeError(error), next: "" };
  return { failure, exitCode: errorTypes.internal.exitCode };
}

/** Prints the error or the interrupt that ended a command. @returns the exit code. */
export function reportFault(
  output: Output,
  command: CommandName,
  error: unknown,
  interrupted: AbortSignal,
): number {
  if (error instanceof Interrupted || interrupted.aborted) {
    output.failure(command, { type: "interrupted", message: "interrupted", next: "" });
    return exitCodes.interrupted;
  }
  const { failure, exitCode } = failureOf(error);
  output.failure(command, failure);
  return exitCode;
}

/**
 * A value as JSON on one line. Control characters are escaped even where JSON allows them, so that it is safe on a terminal.
 */
export function jsonLine(value: unknown): string {
  return escapeControlCharacters(JSON.stringify(toWire(value)));
}
