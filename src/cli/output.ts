import { errorTypes, PipelineError, withNext } from "../contract/errors.ts";
import type { Hint, RefusalReport } from "../contract/refusal.ts";
import { toWire } from "../contract/wire.ts";
import type { Environment } from "./environment.ts";
import type { CommandName, Facts } from "./outputs.ts";
import { type Stream, type Terminal, type TerminalFlags, terminalOf } from "./terminal.ts";

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
 * can read the one while a person reads the other (contract: "The command-line tool").
 */
export class Output {
  readonly json: boolean;
  /** How standard output is written to. */
  readonly out: Terminal;
  /** How standard error is written to. */
  readonly err: Terminal;
  readonly #outStream: Stream;
  readonly #errStream: Stream;
  readonly #quiet: boolean;
  readonly #warnings: string[] = [];
  #passing = false;

  constructor({ out, err, env, flags }: OutputOptions) {
    this.#outStream = out;
    this.#errStream = err;
    this.out = terminalOf(out, env, flags);
    this.err = terminalOf(err, env, flags);
    this.json = flags.json;
    this.#quiet = flags.quiet;
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

  /** Lines of a result that isn't told at once, on standard output. Nothing with `--json`. */
  text(text: string): void {
    this.#clearPassing();
    if (!this.json && text !== "") this.#outStream.write(`${text}\n`);
  }

  /** The refusal object: printed with and without `--json`, since scripts are told by it that a limit refused. */
  refusal(report: RefusalReport): void {
    this.#printObject(report);
    this.#errStream.write(`pipeline: ${report.error.message}\n`);
    for (const { command, doc } of report.hints) this.#errStream.write(`  ${command}    ${doc}\n`);
  }

  /** What went wrong and what to do next; `facts` are what is known all the same. */
  failure(command: string, failure: Failure, facts: Readonly<Record<string, unknown>> = {}): void {
    this.#clearPassing();
    const { type, message, next, hints = [] } = failure;
    if (this.json) {
      const error = { type, message: withNext(message, next) };
      this.#printObject({ ok: false, command, error, hints, ...facts, warnings: this.#warnings });
      return;
    }
    this.#errStream.write(`pipeline: ${message}\n`);
    if (next !== "") this.#errStream.write(`${next}\n`);
  }

  /** One line of progress or prose; nothing with `--quiet`. */
  note(line: string): void {
    if (this.#quiet) return;
    this.#clearPassing();
    this.#errStream.write(`${line}\n`);
  }

  /** A line that the next one replaces, on a terminal; elsewhere nothing, so that logs stay calm. */
  passing(line: string): void {
    if (!this.err.isLive) return;
    this.#errStream.write(`\r\u001b[2K${line}`);
    this.#passing = true;
  }

  /** Something that the person should know; told also with `--quiet`, and in `warnings` with `--json`. */
  warn(line: string): void {
    this.#warnings.push(line);
    this.#clearPassing();
    this.#errStream.write(`pipeline: warning: ${line}\n`);
  }

  #printObject(value: unknown): void {
    this.#clearPassing();
    this.#outStream.write(`${JSON.stringify(toWire(value))}\n`);
  }

  #clearPassing(): void {
    if (this.#passing) this.#errStream.write("\r\u001b[2K");
    this.#passing = false;
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
