import { followLog } from "../../client/follow/followLog.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { DeadlinePassed } from "../../client/service/deadline.ts";
import { runCommand } from "../../contract/refusal.ts";
import { nameOf, type Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { failureOf } from "../output/output.ts";
import type { RunTerminal } from "../tool.ts";

export interface LogDestination {
  /**
   * Standard output or error. With several pipelines or `--json`, standard output is reserved for the refusal or the JSON
   * object.
   */
  readonly stream: "output" | "error";
  /** Whether each line starts with its pipeline's name. */
  readonly isOneOfSeveral: boolean;
}

interface PrintedLog {
  readonly onEntry: () => void;
  readonly onLine: (stepIndex: number) => void;
  readonly onPrinted: () => void;
}

/**
 * Prints a run's log live until it is complete. A log that can't be read is only a warning: the run goes on.
 * @param onEntry called for each received entry, and `onPrinted` once it is printed, which a slow reader may delay; `onLine`
 * before each line, with its step.
 * @param signal ends it early: silently, or with a warning if its reason is `DeadlinePassed`.
 */
export async function printLog(
  tool: RunTerminal,
  client: ServiceClient,
  run: Run,
  { stream, isOneOfSeveral, onEntry, onLine, onPrinted }: LogDestination & PrintedLog,
  signal: AbortSignal,
): Promise<void> {
  const { output } = tool;
  const { hasColor } = stream === "output" ? output.out : output.err;
  const apiKeys = new Set([client.apiKey]);
  const lines = new TerminalLines({ hasColor, apiKeys });
  const whose = isOneOfSeveral ? `${nameOf(run)}: ` : "";
  const print = (whole: ReturnType<TerminalLines["rest"]>): void => {
    for (const { text, stepIndex } of whole) {
      onLine(stepIndex);
      if (stream === "output") output.line(`${whose}${text}`);
      else output.aside(`${whose}${text}`);
    }
  };
  const ends = stream === "output" ? anySignal([signal, tool.unread]) : signal;
  const onGap = (first: number, last: number): void =>
    output.warn(`${nameOf(run)}: the service left out the log's entries ${first} to ${last}.`);
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    const found = await tool.connect(signal);
    apiKeys.add(found.apiKey);
    return found;
  };
  try {
    await followLog(
      client,
      run.runId,
      { follow: true, onGap, reconnect },
      async (entry) => {
        onEntry();
        print(lines.add(entry));
        await output.drained(ends);
        onPrinted();
      },
      ends,
    );
  } catch (error) {
    if (signal.reason instanceof DeadlinePassed) {
      output.warn(
        `${nameOf(run)}: the rest of its log did not come in time: \`${runCommand("log", run.runId)}\` prints it all.`,
      );
    } else if (!ends.aborted) {
      output.warn(`${nameOf(run)}: its log can't be read: ${failureOf(error).failure.message}`);
    }
  }
  print(lines.rest());
}
