import { Deadline } from "../../client/deadline.ts";
import { followRun } from "../../client/followRun.ts";
import { foundAnew, mayHaveMoved, type Reconnect } from "../../client/foundAnew.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import { growingPauses } from "../../client/pauses.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Run } from "../../contract/run.ts";
import type { Tool } from "../tool.ts";
import { type LogPlace, printLog } from "./printLog.ts";
import { type ProgressDeps, RunProgress } from "./runProgress.ts";

/** What became of following a run; of one that was lost sight of, how it was last seen. */
export type Followed =
  | { readonly kind: "ended"; readonly run: Run }
  | { readonly kind: "lost sight of"; readonly run: Run; readonly error: unknown };

/** How long the next entry of a log may take once its run has stopped, in seconds: the log was complete by then. */
const restOfLogWithin = 10;
/** How often a cancel is sent whose answer doesn't come. */
const cancelAttempts = 3;

/**
 * Follows a run to its end, with its log where that is wanted. An interrupt cancels it, and its place is waited for
 * (contract: "The wait").
 */
export async function followStarted(
  tool: Tool,
  client: ServiceClient,
  started: Run,
  deps: ProgressDeps & { readonly log: LogPlace | undefined },
): Promise<Followed> {
  const { interrupted } = tool;
  let service = client;
  // Also after an interrupt: only the service as it is now can tell how the run ends.
  const reconnect = async (signal: AbortSignal): Promise<ServiceClient> => {
    service = await tool.connect(signal);
    return service;
  };
  using progress = new RunProgress(deps, started);
  const stop = new AbortController();
  const cancel = (): void => {
    progress.cancelling();
    cancelSurely(() => service, reconnect, started.runId, stop.signal).catch((error: unknown) =>
      stop.abort(error),
    );
  };
  if (interrupted.aborted) cancel();
  else interrupted.addEventListener("abort", cancel, { once: true });
  const logOver = new AbortController();
  using patience = new Deadline(client.clock, logOver.signal);
  let hasEnded = false;
  const onEntry = (): void => {
    if (hasEnded) patience.arm(restOfLogWithin);
  };
  const log = deps.log && printLog(tool, client, started, { ...deps.log, onEntry }, patience.signal);
  let run = started;
  try {
    const seen = (now: Run): void => {
      run = now;
      progress.show(now);
    };
    run = await followRun(client, started.runId, seen, stop.signal, reconnect);
    hasEnded = true;
    patience.arm(restOfLogWithin);
    await log;
    progress.end(run);
    return { kind: "ended", run };
  } catch (error) {
    return { kind: "lost sight of", run, error };
  } finally {
    interrupted.removeEventListener("abort", cancel);
    stop.abort();
    logOver.abort();
    await log;
  }
}

/** Cancels a run, also over a broken line. One that has stopped meanwhile needs no cancelling. */
async function cancelSurely(
  service: () => ServiceClient,
  reconnect: Reconnect,
  runId: string,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random } = service();
  const pauses = growingPauses(random);
  for (let attempt = 1; ; attempt++) {
    try {
      // It is repeated here, not by the client as well.
      await service().withoutRetries().cancel(runId, signal);
      return;
    } catch (error) {
      const hasStopped =
        error instanceof PipelineError && (error.type === "conflict" || error.type === "not-found");
      if (hasStopped) return;
      if (!mayHaveMoved(error) || attempt >= cancelAttempts) throw error;
      await clock.sleep(pauses.next().value, signal);
      await foundAnew(service(), reconnect, signal);
    }
  }
}
