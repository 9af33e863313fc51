import { TerminalLines } from "../../client/follow/terminalLines.ts";
import { SecretFilter } from "../../client/service/foreignText.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { LogEntry, LogLine } from "../../contract/log.ts";
import { stripEscapeSequences } from "../../text/escapeSequences.ts";
import { type Failure, FailureLines } from "../../text/failureLines.ts";
import { jsonLine, type Output } from "../output/output.ts";

/** How a log's entries are printed. */
export interface LogPrinter {
  add(entry: LogEntry): Promise<void>;
  /** Prints the held tail; from then on every entry is printed at once. */
  stopHolding(): Promise<void>;
  /** Prints the rest after the last entry; line printers also print why steps failed. */
  end(status: string | undefined, failures: readonly Failure[]): Promise<void>;
}

/** The name of the step at an index; undefined if unknown. */
type StepName = (stepIndex: number) => Promise<string | undefined>;

interface LineOptions {
  readonly hasTimes: boolean | undefined;
  /** Print only this many of the last lines. */
  readonly tail: number | undefined;
  /** As for `TerminalLines`. */
  readonly apiKeys: ReadonlySet<string>;
  /** Tells whether lines without escape sequences match, to print only those; it may get several lines at once. */
  readonly grep?: ((lines: string) => boolean) | undefined;
  /** The run of these lines, if other runs follow: shown above them on a terminal, elsewhere before each line. */
  readonly of?: { readonly runId: string; readonly heading: string };
}

/** Prints lines that are safe for a terminal; on a terminal, with a heading for each step. */
export function linePrinter(
  output: Output,
  stepName: StepName,
  { hasTimes, tail, apiKeys, grep, of }: LineOptions,
): LogPrinter {
  const { out } = output;
  const whole = new TerminalLines({ hasColor: out.hasColor, apiKeys });
  const failureLines = new FailureLines();
  /** The last lines so far, if `tail` is set. */
  const held: LogLine[] = [];
  let isHolding = tail !== undefined;
  let step: number | undefined;

  const plain = ({ text }: LogLine) => stripEscapeSequences(text);
  const found = (lines: LogLine[]): LogLine[] => {
    if (grep === undefined || lines.length === 0) return lines;
    // Most lines don't match, and one search of many lines costs about as much as of one.
    return grep(lines.map(plain).join("\n")) ? lines.filter((line) => grep(plain(line))) : [];
  };
  const print = async ({ stepIndex, stream, at, text }: LogLine): Promise<void> => {
    if (out.isTerminal && of !== undefined && step === undefined) output.line(of.heading);
    if (out.isTerminal && stepIndex !== step) {
      const name = (await stepName(stepIndex)) ?? `step ${stepIndex + 1}`;
      output.line(out.style.bold(`${out.hasUnicode ? "▸" : ">"} ${name}`));
    }
    step = stepIndex;
    const time = hasTimes ? `${out.style.dim(at)} ` : "";
    const run = of === undefined || out.isTerminal ? "" : `${of.runId}\t`;
    output.line(`${run}${time}${stream === "note" ? out.style.dim(text) : text}`);
  };
  const take = async (lines: LogLine[]): Promise<void> => {
    for (const line of lines) failureLines.add(line);
    if (isHolding) {
      for (const line of found(lines)) held.push(line);
      held.splice(0, Math.max(0, held.length - (tail ?? 0)));
    } else for (const line of found(lines)) await print(line);
  };
  const stopHolding = async (): Promise<void> => {
    isHolding = false;
    for (const line of held.splice(0)) await print(line);
  };
  const add = (entry: LogEntry): Promise<void> => take(whole.add(entry));
  return {
    add,
    stopHolding,
    async end(_, failures) {
      await take(whole.rest());
      for (const line of failureLines.notInLog(failures)) {
        await add({ ...line, sequence: 0, stream: "note", text: `${line.text}\n` });
      }
      await stopHolding();
    },
  };
}

/**
 * Prints the programs' output unchanged, without the runner's notes: for files and other programs, never for a terminal.
 * @param apiKeys as for `SecretFilter`.
 */
export function rawPrinter(output: Output, apiKeys: ReadonlySet<string>): LogPrinter {
  // One filter for all entries, since an API key may be split between two of them.
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

/** In characters: the longest log for one JSON object, four times what this project's service stores for a run. */
const longestObject = 64 * 1024 * 1024;

/**
 * Prints entries as JSON: one per line as they arrive, or all in the object of `--json`.
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

/** An entry's approximate size in memory, in characters. */
function sizeOf({ text }: LogEntry): number {
  return text.length + 200;
}

function tooLong(): PipelineError {
  const message = "The log is longer than the 64 MiB that are printed at once.";
  const next = "`--ndjson` without `--tail` prints each entry as it comes.";
  return new PipelineError("payload-too-large", message, { next });
}
