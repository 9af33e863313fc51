import { errorTypes, PipelineError, withNext } from "../contract/errors.ts";
import type { Hint, RefusalReport } from "../contract/refusal.ts";
import { toWire } from "../contract/wire.ts";

interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface OutputOptions {
  readonly out: Stream;
  readonly err: Stream;
  /** Whether standard output holds one JSON object and nothing else. */
  readonly json: boolean;
}

/**
 * The one place that prints. Results go to standard output, prose and progress to standard error, so that a script
 * can read the one while a person reads the other (contract: "The command-line tool").
 */
export class Output {
  readonly json: boolean;
  readonly #out: Stream;
  readonly #err: Stream;
  readonly #warnings: string[] = [];
  #passing = false;

  constructor({ out, err, json }: OutputOptions) {
    this.#out = out;
    this.#err = err;
    this.json = json;
  }

  /** What the command came to: with `--json` one object of `facts`, otherwise the text for people and scripts. */
  result(command: string, facts: Readonly<Record<string, unknown>>, text: string): void {
    this.#clearPassing();
    if (this.json) this.#printObject({ ok: true, command, ...facts, warnings: this.#warnings });
    else if (text !== "") this.#out.write(`${text}\n`);
  }

  /** A result of exactly these fields, as the contract pins them for some commands. */
  exactResult(facts: Readonly<Record<string, unknown>>, text: string): void {
    this.#clearPassing();
    if (this.json) this.#printObject(facts);
    else this.#out.write(`${text}\n`);
  }

  /** The refusal object: printed with and without `--json`, since scripts are told by it that a limit refused. */
  refusal(report: RefusalReport): void {
    this.#clearPassing();
    this.#printObject(report);
    this.#err.write(`pipeline: ${report.error.message}\n`);
    for (const { command, doc } of report.hints) this.#err.write(`  ${command}    ${doc}\n`);
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
    this.#err.write(`pipeline: ${message}\n`);
    if (next !== "") this.#err.write(`${next}\n`);
  }

  /** One line of progress or prose. */
  note(line: string): void {
    this.#clearPassing();
    this.#err.write(`${line}\n`);
  }

  /** A line that the next one replaces, on a terminal; elsewhere nothing, so that logs stay calm. */
  passing(line: string): void {
    if (this.#err.isTTY !== true) return;
    this.#err.write(`\r\u001b[2K${line}`);
    this.#passing = true;
  }

  warn(line: string): void {
    this.#warnings.push(line);
    this.note(`pipeline: warning: ${line}`);
  }

  #printObject(value: unknown): void {
    this.#out.write(`${JSON.stringify(toWire(value))}\n`);
  }

  #clearPassing(): void {
    if (this.#passing) this.#err.write("\r\u001b[2K");
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
