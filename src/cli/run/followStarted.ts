import { followLog } from "../../client/follow/followLog.ts";
import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import { TerminalLines } from "../../client/follow/terminalLines.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import { cancelWithRetries } from "../../client/start/cancelRuns.ts";
import { runCommand } from "../../contract/refusal.ts";
import { type CancelReply, nameOf, type Run } from "../../contract/run.ts";
import { anySignal } from "../../machine/anySignal.ts";
import { failureOf } from "../output/output.ts";
import type { RunTerminal } from "../tool.ts";
import { type ProgressDeps, runProgress } from "./progress.ts";

/** `isFollowed`: false with `--detach`, or if the service doesn't show a run's end. `follow-failed`: it may still be active. */
export type Followed =
  | { readonly kind: "run"; readonly run: Run; readonly isFollowed: boolean }
  | { readonly kind: "follow-failed"; readonly run: Run; readonly error: unknown };

/** In seconds: the longest gap between log entries once the run has stopped. */
const restOfLogTimeout = 10;

/**
 * Follows a run to its end and prints its log if requested. An interrupt cancels the run, whose end is still awaited (contract:
 * "The command-line tool"). An abort of `leaving` ends the following.
 */
export async function followStarted(
  tool: RunTerminal,
  client: ServiceClient,
  started: Run,
  deps: ProgressDeps & { readonly log: LogStream | undefined },
): Promise<Followed> {
  const { interrupted, leaving } = tool;
  let service = client;
  // Doesn't use the interrupt's signal: following continues until the cancelled run ends.
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    service = await tool.connect(signal);
    return service;
  };
  using progress = runProgress(deps, started, deps.log !== undefined);
  const stop = new AbortController();
  const ends = anySignal([leaving, stop.signal]);
  let cancelled: Promise<CancelReply | undefined> | undefined;
  const cancel = (): void => {
    progress.cancelling();
    cancelled = cancelWithRetries(() => service, reconnect, started.runId, ends).catch((error: unknown) => {
      stop.abort(error);
      return undefined;
    });
    void cancelled.then((reply) => {
      if (reply?.warning !== undefined) progress.note(reply.warning);
    });
  };
  if (interrupted.aborted) cancel();
  else interrupted.addEventListener("abort", cancel, { once: true });
  using patience = new Deadline(client.clock, ends);
  let hasEnded = false;
  let isPrinting = false;
  const onEntry = (): void => {
    isPrinting = true;
    patience.disarm();
  };
  const onPrinted = (): void => {
    isPrinting = false;
    if (hasEnded) patience.arm(restOfLogTimeout);
  };
  const onLine = (stepIndex: number): void => progress.logged(stepIndex);
  const { log: stream, isOneOfSeveral } = deps;
  const printing = stream && { stream, isOneOfSeveral, onEntry, onLine, onPrinted };
  const log =
    printing &&
    printLog(tool, client, started, printing, patience.signal).finally(() =>
      progress.logged(Number.POSITIVE_INFINITY),
    );
  let run = started;
  try {
    const seen = (now: Run): void => {
      run = now;
      progress.show(now);
    };
    run = await followRun(client, started, seen, ends, reconnect);
    hasEnded = true;
    if (!isPrinting) patience.arm(restOfLogTimeout);
    await log;
    progress.end(run);
    return { kind: "run", run, isFollowed: true };
  } catch (error) {
    // Even if the end can't be seen, the cancel request must reach the service.
    const reply = await cancelled;
    if (!isUnseen(error)) return { kind: "follow-failed", run, error };
    tool.output.warn(`${nameOf(run)}: ${client.baseUrl.host} doesn't report how ${run.runId} ends.`);
    return {
      kind: "run",
      run: reply === undefined ? run : { ...run, status: reply.status },
      isFollowed: false,
    };
  } finally {
    interrupted.removeEventListener("abort", cancel);
    stop.abort();
    await log;
  }
}

/**
 * Where the steps' output is printed. With several pipelines or `--json`, standard output is reserved for the refusal or the JSON
 * object.
 */
export type LogStream = "output" | "error";

interface PrintedLog extends Pick<ProgressDeps, "isOneOfSeveral"> {
  readonly stream: LogStream;
  readonly onEntry: () => void;
  readonly onLine: (stepIndex: number) => void;
  readonly onPrinted: () => void;
}

/**
 * Prints a run's log live until it is complete. A log that can't be read only causes a warning: the run goes on.
 * @param onEntry called for each received entry, and `onPrinted` once it is printed, which a slow reader may delay; `onLine` is
 * called before each line, with its step.
 * @param signal ends the printing early: silently, or with a warning if its reason is `DeadlinePassed`.
 */
async function printLog(
  tool: RunTerminal,
  client: ServiceClient,
  run: Run,
  { stream, isOneOfSeveral, onEntry, onLine, onPrinted }: PrintedLog,
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
