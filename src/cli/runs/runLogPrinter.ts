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
 */
export class RawPrinter implements LogPrinter {
  readonly #output: Output;
  /** Filters across entries: an API key may be split between two of them. */
  readonly #text: SecretFilter;

  /** @param apiKeys as `SecretFilter` takes them. */
  constructor(output: Output, apiKeys: ReadonlySet<string>) {
    this.#output = output;
    this.#text = new SecretFilter(apiKeys);
  }

  async add({ stream, text }: LogEntry): Promise<void> {
    if (stream !== "note") this.#output.piece(this.#text.add(text));
  }

  async stopHolding(): Promise<void> {}

  async end(): Promise<void> {
    this.#output.piece(this.#text.rest());
  }
}

/** In characters: the longest log for one JSON object, four times what this project's service stores of a run. */
const longestObject = 64 * 1024 * 1024;

/** Prints entries as JSON: one a line as they arrive, or all in the object of `--json`. */
export class EntryPrinter implements LogPrinter {
  readonly #output: Output;
  readonly #runId: string;
  readonly #tail: number | undefined;
  readonly #entries: LogEntry[] = [];
  #isHolding: boolean;
  #held = 0;

  constructor(output: Output, runId: string, tail: number | undefined) {
    this.#output = output;
    this.#runId = runId;
    this.#tail = tail;
    this.#isHolding = tail !== undefined;
  }

  /** @throws PipelineError `payload-too-large` if too much has to be held. */
  async add(entry: LogEntry): Promise<void> {
    if (!this.#output.json && !this.#isHolding) return this.#print(entry);
    this.#entries.push(entry);
    this.#held += sizeOf(entry);
    if (this.#isHolding && this.#entries.length > (this.#tail ?? 0)) {
      const first = this.#entries.shift();
      if (first !== undefined) this.#held -= sizeOf(first);
    }
    if (this.#held > longestObject) throw tooLong();
  }

  async stopHolding(): Promise<void> {
    this.#isHolding = false;
    if (!this.#output.json) for (const entry of this.#entries.splice(0)) this.#print(entry);
  }

  async end(status: string | undefined): Promise<void> {
    await this.stopHolding();
    const known = status === undefined ? {} : { status };
    if (this.#output.json)
      this.#output.result("runs log", { runId: this.#runId, ...known, entries: this.#entries }, "");
  }

  #print(entry: LogEntry): void {
    this.#output.line(jsonLine(entry));
  }
}

/** An entry's size in memory, roughly, in characters. */
function sizeOf({ text }: LogEntry): number {
  return text.length + 200;
}

function tooLong(): PipelineError {
  return new PipelineError(
    "payload-too-large",
    "The log is longer than the 64 MiB that are printed at once.",
    {
      next: "`--ndjson` without `--tail` prints each entry as it comes.",
    },
  );
}
