import { followRun, isUnseen } from "../../client/follow/followRun.ts";
import type { ServiceClient } from "../../client/service/client.ts";
import { Deadline } from "../../client/service/deadline.ts";
import { cancelWithRetries } from "../../client/start/cancelRuns.ts";
import type { CancelReply, Run } from "../../contract/run.ts";
import type { RunTerminal } from "../tool.ts";
import { type LogDestination, printLog } from "./printLog.ts";
import { type ProgressDeps, RunProgress } from "./progress.ts";

/** `end-unknown`: the service can't show how the run ends. `follow-failed`: the run may still be active. */
export type Followed =
  | { readonly kind: "ended"; readonly run: Run }
  | { readonly kind: "end-unknown"; readonly run: Run }
  | { readonly kind: "follow-failed"; readonly run: Run; readonly error: unknown };

/** In seconds: the longest gap between log entries once the run has stopped. */
const restOfLogTimeout = 10;

/**
 * Follows a run to its end and prints its log if requested. An interrupt cancels the run, and the end is still awaited
 * (contract: "The command-line tool"). Leaving ends the following.
 */
export async function followStarted(
  tool: RunTerminal,
  client: ServiceClient,
  started: Run,
  deps: ProgressDeps & { readonly log: LogDestination | undefined },
): Promise<Followed> {
  const { interrupted, leaving } = tool;
  let service = client;
  // Without the interrupt's signal: following goes on until the cancelled run ends.
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    service = await tool.connect(signal);
    return service;
  };
  using progress = new RunProgress(deps, started, deps.log !== undefined);
  const stop = new AbortController();
  const leave = (): void => stop.abort(leaving.reason);
  leaving.addEventListener("abort", leave, { once: true });
  let cancelled: Promise<CancelReply | undefined> | undefined;
  const cancel = (): void => {
    progress.cancelling();
    cancelled = cancelWithRetries(() => service, reconnect, started.runId, stop.signal).catch(
      (error: unknown) => {
        stop.abort(error);
        return undefined;
      },
    );
    void cancelled.then((reply) => {
      if (reply?.warning !== undefined) progress.note(reply.warning);
    });
  };
  if (interrupted.aborted) cancel();
  else interrupted.addEventListener("abort", cancel, { once: true });
  const logOver = new AbortController();
  using patience = new Deadline(client.clock, logOver.signal);
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
  const log =
    deps.log &&
    printLog(tool, client, started, { ...deps.log, onEntry, onLine, onPrinted }, patience.signal).finally(
      () => progress.logged(Number.POSITIVE_INFINITY),
    );
  let run = started;
  try {
    const seen = (now: Run): void => {
      run = now;
      progress.show(now);
    };
    run = await followRun(client, started, seen, stop.signal, reconnect);
    hasEnded = true;
    if (!isPrinting) patience.arm(restOfLogTimeout);
    await log;
    progress.end(run);
    return { kind: "ended", run };
  } catch (error) {
    // Where the end can't be seen, the cancel request must still reach the service.
    const reply = await cancelled;
    if (!isUnseen(error)) return { kind: "follow-failed", run, error };
    return { kind: "end-unknown", run: reply === undefined ? run : { ...run, status: reply.status } };
  } finally {
    leaving.removeEventListener("abort", leave);
    interrupted.removeEventListener("abort", cancel);
    stop.abort();
    logOver.abort();
    await log;
  }
}
