import { type FollowLogOptions, followLog } from "../../client/follow/followLog.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import type { LogLine } from "../../contract/log.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { failureOf } from "../output/output.ts";
import type { Tool } from "../tool.ts";

/** What a report says about one of a command's pipelines. */
export interface ReportedRun {
  readonly pipeline: string;
  /** Undefined if none was started, or that is unknown. */
  readonly run: Run | undefined;
  /** Why it does not count as succeeded; undefined if it does. */
  readonly problem: string | undefined;
  /** By the step's index; absent for a step that wrote nothing. */
  readonly logs: ReadonlyMap<number, StepLog>;
}

/** The end of a step's log, with colours as SGR sequences and nothing else that controls a terminal. */
export type StepLog = Pick<LogTail, "lines" | "leftOut">;

/** Per step. */
const stepLimits: LogLimits = { lines: 2_000, ofLine: 4_000, ofAll: Number.POSITIVE_INFINITY };

/**
 * A run with its log. A log that can't be read only causes a warning.
 * @param signal ends the reading of the log.
 * @param problem see {@link ReportedRun}; by default what the run itself says.
 */
export async function reportedRun(
  { output, connect }: Tool,
  run: Run,
  signal: AbortSignal,
  problem = problemOf(run),
): Promise<ReportedRun> {
  let logs = new Map<number, LogTail>();
  const onGap = (first: number, last: number): void =>
    output.warn(`${nameOf(run)}: the service left out the log's entries ${first} to ${last}.`);
  const keep = (line: LogLine): void => {
    const log = logs.get(line.stepIndex) ?? new LogTail(stepLimits);
    logs.set(line.stepIndex, log);
    log.add(line);
  };
  try {
    await readLines(await connect(signal), run.runId, { hasColor: true, onGap }, keep, signal);
  } catch (error) {
    signal.throwIfAborted();
    logs = new Map();
    const why = failureOf(error).failure.message;
    output.warn(`${nameOf(run)}: the report is without the log, which can't be read: ${why}`);
  }
  return { pipeline: nameOf(run), run, problem, logs };
}

function problemOf(run: Run): string | undefined {
  if (run.status === "succeeded") return undefined;
  if (isActive(run)) return "The run is still running.";
  return run.reason ?? run.status;
}

/** Reads the lines of a log so far; of what controls a terminal, only colours are kept. @throws as `followLog`. */
export async function readLines(
  client: ServiceClient,
  runId: string,
  { hasColor, ...options }: Pick<FollowLogOptions, "onGap"> & { readonly hasColor: boolean },
  onLine: (line: LogLine) => void,
  signal: AbortSignal,
): Promise<void> {
  const lines = new TerminalLines({ hasColor, apiKeys: new Set([client.apiKey]) });
  await followLog(
    client,
    runId,
    { follow: false, ...options },
    (entry) => lines.add(entry).forEach(onLine),
    signal,
  );
  lines.rest().forEach(onLine);
}

/** How much of a log is kept, in lines, characters of a line, and characters in all. */
interface LogLimits {
  readonly lines: number;
  readonly ofLine: number;
  readonly ofAll: number;
}

/** The last lines of a log, within limits. */
export class LogTail {
  readonly lines: LogLine[] = [];
  /** How many earlier lines are left out. */
  leftOut = 0;
  readonly #limits: LogLimits;
  #length = 0;

  constructor(limits: LogLimits) {
    this.#limits = limits;
  }

  add(line: LogLine): void {
    const { lines, ofLine, ofAll } = this.#limits;
    const text = line.text.length > ofLine ? `${line.text.slice(0, ofLine)}…` : line.text;
    this.lines.push({ ...line, text });
    this.#length += text.length + 1;
    while (this.lines.length > lines || this.#length > ofAll) {
      this.#length -= (this.lines.shift()?.text.length ?? 0) + 1;
      this.leftOut += 1;
    }
  }
}
