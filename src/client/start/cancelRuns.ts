import { PipelineError } from "../../contract/errors.ts";
import type { CancelReply } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { listRuns } from "../follow/listRuns.ts";
import type { ServiceClient } from "../service/client.ts";
import { asAbsentEndpoint, findAgain, mayHaveRestarted, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { growingPauses } from "../service/retry.ts";

/** The outcome for one run. `status` is the service's. */
export type CancelOutcome =
  | { readonly runId: string; readonly kind: "cancelled"; readonly status: string }
  | { readonly runId: string; readonly kind: "failed"; readonly error: unknown };

const cancelsAtOnce = 4;
/** After this many cancels in a row without a reply, the other runs aren't tried. */
const unreachedForgiven = 8;

export type MyRuns = Awaited<ReturnType<typeof myActiveRuns>>;

/**
 * The runs that `--mine` means (contract: "The command-line tool"), newest first. Filters by the org reply's `actor`, since a
 * service may ignore the query and list others' runs too.
 *
 * @returns also `nobodys`, those without an `actor`, and whether there are more runs than were read.
 * @throws PipelineError as `ServiceClient.org`; an `AbsentEndpoint` if that succeeds but the runs can't be listed; the signal's
 * reason when it aborts.
 */
export async function myActiveRuns(client: ServiceClient, signal: AbortSignal) {
  const { actor: me } = await client.org(signal);
  // Not filtered by key, so that runs without an actor are listed too; there are no more than the org has slots.
  const wanted = { statuses: ["in-work"], limit: Number.POSITIVE_INFINITY };
  try {
    const { runs, next } = await listRuns(client, wanted, signal);
    return {
      mine: runs.filter(({ actor }) => actor === me),
      nobodys: runs.filter(({ actor }) => actor === undefined),
      areMore: next !== undefined,
    };
  } catch (error) {
    throw await asAbsentEndpoint(client, error, signal);
  }
}

/**
 * Cancels runs, four at a time. A run that has stopped counts as cancelled, even if the service calls that an error. While the
 * service is out of reach each run gets one attempt, and after eight such failures in a row the others fail at once.
 *
 * @param onOutcome called with each outcome as it comes.
 * @returns the outcomes in the runs' order.
 * @throws only the signal's reason.
 */
export async function cancelEach(
  client: ServiceClient,
  runIds: readonly string[],
  signal: AbortSignal,
  onOutcome: (outcome: CancelOutcome) => void = () => {},
): Promise<CancelOutcome[]> {
  const outcomes: CancelOutcome[] = [];
  const waiting = runIds.entries();
  // Failures in a row without a reply, which the next run will most likely meet too.
  let unreached = 0;
  let away: unknown;
  const outcomeOf = async (runId: string): Promise<CancelOutcome> => {
    if (unreached >= unreachedForgiven) return { runId, kind: "failed", error: away };
    const outcome = await cancelOne(unreached === 0 ? client : client.withoutRetries(), runId, signal);
    const isAway = outcome.kind === "failed" && outcome.error instanceof OutOfReach;
    if (isAway) away = outcome.error;
    unreached = isAway ? unreached + 1 : 0;
    return outcome;
  };
  const worker = async (): Promise<void> => {
    for (const [index, runId] of waiting) {
      const outcome = await outcomeOf(runId);
      outcomes[index] = outcome;
      onOutcome(outcome);
    }
  };
  await Promise.all(Array.from({ length: cancelsAtOnce }, worker));
  return outcomes;
}

async function cancelOne(client: ServiceClient, runId: string, signal: AbortSignal): Promise<CancelOutcome> {
  try {
    const { status } = await client.cancel(runId, signal);
    return { runId, kind: "cancelled", status };
  } catch (error) {
    signal.throwIfAborted();
    const status = mayHaveStopped(error) ? await statusIfStopped(client, runId, signal) : undefined;
    return status === undefined ? { runId, kind: "failed", error } : { runId, kind: "cancelled", status };
  }
}

function mayHaveStopped(error: unknown): boolean {
  return error instanceof PipelineError && (error.type === "conflict" || error.type === "not-found");
}

async function statusIfStopped(
  client: ServiceClient,
  runId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const run = await client.run(runId, signal);
    return isActive(run) ? undefined : run.status;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** How often a cancel without a reply is tried. */
const cancelAttempts = 3;

/**
 * Cancels a run, with retries over a broken connection.
 * @param service returns the service that `reconnect` found last.
 * @returns the service's reply; undefined if the run has already stopped.
 * @throws PipelineError as `ServiceClient.cancel`, but not for a run that has stopped; the signal's reason.
 */
export async function cancelWithRetries(
  service: () => ServiceClient,
  reconnect: Reconnect | undefined,
  runId: string,
  signal: AbortSignal,
): Promise<CancelReply | undefined> {
  const { clock, random } = service();
  const pauses = growingPauses(random);
  for (let attempt = 1; ; attempt++) {
    try {
      return await service().withoutRetries().cancel(runId, signal);
    } catch (error) {
      if (mayHaveStopped(error)) return undefined;
      if (!mayHaveRestarted(error) || attempt >= cancelAttempts) throw error;
      await clock.sleep(pauses.next().value, signal);
      await findAgain(service(), reconnect, signal);
    }
  }
}
