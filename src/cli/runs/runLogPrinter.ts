import { TerminalLines } from "../../client/follow/terminalLines.ts";
import { SecretFilter } from "../../client/service/foreignText.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { LogEntry, LogLine } from "../../contract/log.ts";
import { stripEscapeSequences } from "../../text/escapeSequences.ts";
import { type Failure, FailureLines } from "../../text/failureLines.ts";
import type { Output } from "../output/output.ts";
import { jsonLine } from "../output/output.ts";

/** How a log's entries are printed. */
export interface LogPrinter {
  add(entry: LogEntry): Promise<void>;
  /** Prints the held tail; from now on every entry is printed at once. */
  stopHolding(): Promise<void>;
  /** Prints the rest, after the last entry; as lines with why steps failed. */
  end(status: string | undefined, failures: readonly Failure[]): Promise<void>;
}

/** The name of the step at an index; undefined if unknown. */
type StepName = (stepIndex: number) => Promise<string | undefined>;

interface LineOptions {
  readonly hasTimes: boolean | undefined;
  /** Only so many of the last lines. */
  readonly tail: number | undefined;
  /** As `TerminalLines` takes them. */
  readonly apiKeys: ReadonlySet<string>;
  /** Only lines that it finds something in, without their escape sequences; it may be given several at once. */
  readonly grep?: ((lines: string) => boolean) | undefined;
  /** The run whose lines these are, where others follow: above them on a terminal, elsewhere before each. */
  readonly of?: { readonly runId: string; readonly heading: string };
}

/** Prints lines that are safe for a terminal; on a terminal, with a heading for each step. */
export class LinePrinter implements LogPrinter {
  readonly #output: Output;
  readonly #lines: TerminalLines;
  readonly #failures = new FailureLines();
  readonly #stepName: StepName;
  readonly #options: LineOptions;
  /** The last lines so far, with `tail`. */
  #held: LogLine[] = [];
  #step: number | undefined;
  #isHolding: boolean;

  constructor(output: Output, stepName: StepName, options: LineOptions) {
    this.#output = output;
    this.#lines = new TerminalLines({ hasColor: output.out.hasColor, apiKeys: options.apiKeys });
    this.#stepName = stepName;
    this.#options = options;
    this.#isHolding = options.tail !== undefined;
  }

  async add(entry: LogEntry): Promise<void> {
    await this.#take(this.#lines.add(entry));
  }

  async #take(lines: LogLine[]): Promise<void> {
    for (const line of lines) this.#failures.add(line);
    const found = this.#found(lines);
    if (this.#isHolding) this.#hold(found);
    else for (const line of found) await this.#print(line);
  }

  async stopHolding(): Promise<void> {
    this.#isHolding = false;
    for (const line of this.#held.splice(0)) await this.#print(line);
  }

  async end(_: string | undefined, failures: readonly Failure[]): Promise<void> {
    await this.#take(this.#lines.rest());
    for (const line of this.#failures.beside(failures)) {
      await this.add({ ...line, sequence: 0, stream: "note", text: `${line.text}\n` });
    }
    await this.stopHolding();
  }

  #found(lines: LogLine[]): LogLine[] {
    const { grep } = this.#options;
    if (grep === undefined || lines.length === 0) return lines;
    const plain = ({ text }: LogLine) => stripEscapeSequences(text);
    // Most have none, and a search costs about as much for many lines as for one.
    return grep(lines.map(plain).join("\n")) ? lines.filter((line) => grep(plain(line))) : [];
  }

  #hold(lines: readonly LogLine[]): void {
    const { tail = 0 } = this.#options;
    for (const line of lines.slice(Math.max(0, lines.length - tail))) this.#held.push(line);
    if (this.#held.length > tail) this.#held.splice(0, this.#held.length - tail);
  }

  async #print({ stepIndex, stream, at, text }: LogLine): Promise<void> {
    const { out } = this.#output;
    const { of } = this.#options;
    if (out.isTerminal && of !== undefined && this.#step === undefined) this.#output.line(of.heading);
    if (out.isTerminal && stepIndex !== this.#step) {
      const name = (await this.#stepName(stepIndex)) ?? `step ${stepIndex + 1}`;
      this.#output.line(out.style.bold(`${out.hasUnicode ? "▸" : ">"} ${name}`));
    }
    this.#step = stepIndex;
    const time = this.#options.hasTimes ? `${out.style.dim(at)} ` : "";
    const run = of === undefined || out.isTerminal ? "" : `${of.runId}\t`;
    this.#output.line(`${run}${time}${stream === "note" ? out.style.dim(text) : text}`);
  }
}

/**
 * Prints the programs' output unchanged, without the runner's notes: for files and other programs, never for a terminal.
 * @param apiKeys as `SecretFilter` takes them.
 */
export function rawPrinter(output: Output, apiKeys: ReadonlySet<string>): LogPrinter {
  // Across entries: an API key may be split between two of them.
  const filter = new SecretFilter(apiKeys);
  return {
    async add({ stream, text }) {
      if (stream !== "note") output.piece(filter.add(text));
    },
    async stopHolding() {},
    async end() {
      output.piece(filter.rest());
    },
  };
}

/** In characters: the longest log for one JSON object, four times what this project's service stores of a run. */
const longestObject = 64 * 1024 * 1024;

/**
 * Prints entries as JSON: one a line as they arrive, or all in the object of `--json`.
 * @throws PipelineError `payload-too-large`, from `add`, if too much has to be held.
 */
export function entryPrinter(output: Output, runId: string, tail: number | undefined): LogPrinter {
  const entries: LogEntry[] = [];
  let isHolding = tail !== undefined;
  let held = 0;
  const print = (entry: LogEntry): void => output.line(jsonLine(entry));
  const stopHolding = async (): Promise<void> => {
    isHolding = false;
    if (!output.json) entries.splice(0).forEach(print);
  };
  return {
    async add(entry) {
      if (!output.json && !isHolding) return print(entry);
      entries.push(entry);
      held += sizeOf(entry);
      if (isHolding && entries.length > (tail ?? 0)) {
        const first = entries.shift();
        if (first !== undefined) held -= sizeOf(first);
      }
      if (held > longestObject) throw tooLong();
    },
    stopHolding,
    async end(status) {
      await stopHolding();
      const known = status === undefined ? {} : { status };
      if (output.json) output.result("runs log", { runId, ...known, entries }, "");
    },
  };
}

/** An entry's size in memory, roughly, in characters. */
function sizeOf({ text }: LogEntry): number {
  return text.length + 200;
}

function tooLong(): PipelineError {
  const message = "The log is longer than the 64 MiB that are printed at once.";
  const next = "`--ndjson` without `--tail` prints each entry as it comes.";
  return new PipelineError("payload-too-large", message, { next });
}
