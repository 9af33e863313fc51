import type { Environment } from "../../client/environment.ts";
import { controlCharacters, sanitizeForTerminal } from "../../contract/controlCharacters.ts";
import { errorTypes, PipelineError, withNext } from "../../contract/errors.ts";
import type { Hint, RefusalReport } from "../../contract/refusal.ts";
import { toWire } from "../../contract/wire.ts";
import { LiveRegion } from "../terminal/liveLines.ts";
import { type Stream, type Terminal, type TerminalFlags, terminalOf } from "../terminal/terminal.ts";
import type { CommandName, Facts } from "./outputs.ts";

export interface OutputFlags extends TerminalFlags {
  /** Whether standard output holds one JSON object and nothing else. */
  readonly json: boolean;
}

export interface OutputOptions {
  readonly out: Stream;
  readonly err: Stream;
  readonly env: Environment;
  readonly flags: OutputFlags;
}

/**
 * The one place that prints. Results go to standard output, prose and progress to standard error, so that a script
 * can read the one while a person reads the other (contract: "The command-line tool"). Nothing in them drives a terminal
 * but the tool's own colours, wherever a text came from.
 */
export class Output {
  readonly json: boolean;
  /** Whether notes and passing lines are declined. */
  readonly isQuiet: boolean;
  /** How standard output is written to. */
  readonly out: Terminal;
  /** How standard error is written to. */
  readonly err: Terminal;
  readonly #outStream: Stream;
  readonly #errStream: Stream;
  readonly #warnings: string[] = [];
  readonly #region: LiveRegion;
  readonly #draining = new Map<Stream, Promise<void>>();

  constructor({ out, err, env, flags }: OutputOptions) {
    this.#outStream = out;
    this.#errStream = err;
    this.out = terminalOf(out, env, flags);
    this.err = terminalOf(err, env, flags);
    this.json = flags.json;
    this.isQuiet = flags.quiet;
    this.#region = new LiveRegion(err, this.err);
  }

  /** What the command came to: with `--json` one object of `facts`, otherwise the text for people and scripts. */
  result<C extends CommandName>(command: C, facts: Facts<C>, text: string): void {
    if (this.json) this.#printObject({ ok: true, command, ...facts, warnings: this.#warnings });
    else this.text(text);
  }

  /** A result of exactly the contract's fields, which names no warnings. */
  exactResult<C extends CommandName>(command: C, facts: Facts<C>, text: string): void {
    if (this.json) this.#printObject({ ok: true, command, ...facts });
    else this.text(text);
  }

  /** Lines of a result that isn't told at once, on standard output; none for an empty text. Nothing with `--json`. */
  text(text: string): void {
    if (text !== "") this.line(text);
  }

  /** One line of a result that is lines of any kind, also an empty one. Nothing with `--json`. */
  line(line: string): void {
    if (this.json) return;
    this.#makeRoom();
    this.#outStream.write(`${sanitizeForTerminal(line, this.out.hasColor)}\n`);
  }

  /** A piece of a result as it is, with the line ends that it has. Nothing with `--json`. */
  piece(text: string): void {
    if (this.json) return;
    this.#makeRoom();
    this.#outStream.write(text);
  }

  /**
   * Resolves once standard output and error take more: at once, unless their readers are slower than what is written. Whoever
   * prints what has no end awaits it, so that what was not read yet doesn't pile up here.
   * @throws the signal's reason.
   */
  async drained(signal: AbortSignal): Promise<void> {
    for (const stream of [this.#outStream, this.#errStream]) {
      if (stream.writableNeedDrain === true) await this.#drained(stream, signal);
    }
  }

  /** One listener a stream, however many wait. */
  #drain(stream: Stream): Promise<void> {
    const known = this.#draining.get(stream);
    if (known !== undefined) return known;
    const drain = new Promise<void>((resolve) => stream.once?.("drain", resolve)).then(() => {
      this.#draining.delete(stream);
    });
    this.#draining.set(stream, drain);
    return drain;
  }

  async #drained(stream: Stream, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      void this.#drain(stream).then(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
    });
  }

  /** The refusal object: printed with and without `--json`, since scripts are told by it that a limit refused. */
  refusal(report: RefusalReport): void {
    this.#region.clear();
    this.#printObject(report);
    this.#errStream.write(`pipeline: ${sanitizeForTerminal(report.error.message, false)}\n`);
    for (const { command, doc } of report.hints) {
      this.#errStream.write(`  ${sanitizeForTerminal(`${command}    ${doc}`, false)}\n`);
    }
  }

  /** What went wrong and what to do next; `facts` are what is known all the same. */
  failure(command: string, failure: Failure, facts: Readonly<Record<string, unknown>> = {}): void {
    this.#region.clear();
    const { type, message, next, hints = [] } = failure;
    if (this.json) {
      const error = { type, message: withNext(message, next) };
      this.#printObject({ ok: false, command, error, hints, ...facts, warnings: this.#warnings });
      return;
    }
    this.#errStream.write(`pipeline: ${sanitizeForTerminal(message, false)}\n`);
    if (next !== "") this.#errStream.write(`${sanitizeForTerminal(next, false)}\n`);
  }

  /** One line of progress or prose; nothing with `--quiet`. */
  note(line: string): void {
    if (!this.isQuiet) this.aside(line);
  }

  /** A line of a result that has no room on standard output; told on standard error, also with `--quiet`. */
  aside(line: string): void {
    this.#region.clear();
    this.#errStream.write(`${sanitizeForTerminal(line, this.err.hasColor)}\n`);
  }

  /** Lines that the next ones replace, on a terminal; elsewhere nothing, so that logs stay calm. */
  passing(...lines: readonly string[]): void {
    if (this.err.isLive) this.#region.draw(lines.map((line) => sanitizeForTerminal(line, this.err.hasColor)));
  }

  /** Leaves a terminal as it was found: without passing lines, and with its cursor. */
  release(): void {
    this.#region.release();
  }

  /** Something that the person should know; told also with `--quiet`, and in `warnings` with `--json`. */
  warn(line: string): void {
    this.#warnings.push(line);
    this.aside(`pipeline: warning: ${sanitizeForTerminal(line, false)}`);
  }

  #printObject(value: unknown): void {
    this.#makeRoom();
    this.#outStream.write(`${jsonLine(value)}\n`);
  }

  /** What goes to a file doesn't meet the lines on the terminal. */
  #makeRoom(): void {
    if (this.#outStream.isTTY === true) this.#region.clear();
  }
}

export interface Failure {
  readonly type: string;
  readonly message: string;
  /** The next step, as a sentence; empty when the message says it all. */
  readonly next: string;
  readonly hints?: readonly Hint[];
}

/** What was thrown, as a failure to print and the exit code that the contract gives it. */
export function failureOf(error: unknown): { readonly failure: Failure; readonly exitCode: number } {
  if (error instanceof PipelineError) {
    const { type, message, next } = error;
    return { failure: { type, message, next }, exitCode: errorTypes[type].exitCode };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { failure: { type: "internal", message, next: "" }, exitCode: errorTypes.internal.exitCode };
}

const unescaped = new RegExp(`[${controlCharacters}]`, "gu");

/**
 * A value as JSON on one line. What a terminal might obey is escaped also where JSON needs no escape: the same value for
 * a program, and safe on a terminal.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(toWire(value)).replace(
    unescaped,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
