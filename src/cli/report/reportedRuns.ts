import { followLog } from "../../client/follow/followLog.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { LogLine } from "../../contract/log.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { failureOf } from "../output/output.ts";
import type { RunTerminal } from "../tool.ts";

/** What a report says of one pipeline of a command. */
export interface ReportedRun {
  readonly pipeline: string;
  /** Undefined where none was started, and where that is unknown. */
  readonly run: Run | undefined;
  /** Why it does not count as succeeded; undefined if it does. */
  readonly problem: string | undefined;
  /** By the step's index; a step that wrote nothing has none. */
  readonly logs: ReadonlyMap<number, StepLog>;
}

/** The end of a step's log. */
export interface StepLog {
  /** With colours as SGR sequences, without anything else that drives a terminal. */
  readonly lines: readonly LogLine[];
  /** How many lines before these are left out. */
  readonly leftOut: number;
}

/** Of a step. */
const mostLines = 2_000;
/** In characters; the rest of a longer line is left out. */
const longestLine = 4_000;

/**
 * A run with its log. A log that can't be read is only a warning.
 * @param signal ends the reading of the log.
 * @param problem see {@link ReportedRun}; left out, what the run itself says.
 */
export async function reportedRun(
  tool: RunTerminal,
  run: Run,
  signal: AbortSignal,
  problem = problemOf(run),
): Promise<ReportedRun> {
  const logs = await logsOf(tool, run, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const why = failureOf(error).failure.message;
    tool.output.warn(`${nameOf(run)}: the report is without the log, which can't be read: ${why}`);
    return new Map<number, StepLog>();
  });
  return { pipeline: nameOf(run), run, problem, logs };
}

function problemOf(run: Run): string | undefined {
  if (run.status === "succeeded") return undefined;
  if (isActive(run)) return "The run is still running.";
  return run.reason ?? run.status;
}

async function logsOf(
  tool: RunTerminal,
  run: Run,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, StepLog>> {
  const client = await tool.connect(signal);
  const whole = new TerminalLines({ hasColor: true, apiKeys: new Set([client.apiKey]) });
  const logs = new Map<number, { lines: LogLine[]; leftOut: number }>();
  const keep = (line: LogLine): void => {
    const log = logs.get(line.stepIndex) ?? { lines: [], leftOut: 0 };
    logs.set(line.stepIndex, log);
    const { text } = line;
    log.lines.push(text.length > longestLine ? { ...line, text: `${text.slice(0, longestLine)}…` } : line);
    if (log.lines.length <= mostLines) return;
    log.lines.shift();
    log.leftOut += 1;
  };
  const onGap = (first: number, last: number): void =>
    tool.output.warn(`${nameOf(run)}: the service left out the log's entries ${first} to ${last}.`);
  await followLog(
    client,
    run.runId,
    { follow: false, onGap },
    (entry) => {
      for (const line of whole.add(entry)) keep(line);
    },
    signal,
  );
  for (const line of whole.rest()) keep(line);
  return logs;
}
