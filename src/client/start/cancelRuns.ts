import { PipelineError } from "../../contract/errors.ts";
import type { CancelReply, Run } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import { listRuns } from "../follow/listRuns.ts";
import type { ServiceClient } from "../service/client.ts";
import { asAbsentEndpoint, findAgain, mayHaveRestarted, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { growingPauses } from "../service/retry.ts";

/** What became of one run. `status` is the service's own word. */
export type CancelOutcome =
  | { readonly runId: string; readonly kind: "cancelled"; readonly status: string }
  | { readonly runId: string; readonly kind: "failed"; readonly error: unknown };

const cancelsAtOnce = 4;
/** After so many runs in a row whose cancelling brought no answer, the others are not asked for. */
const unreachedForgiven = 8;

/** The runs in work that the caller's key started, and those of which the service doesn't tell who did. */
export interface MyRuns {
  readonly mine: readonly Run[];
  readonly nobodys: readonly Run[];
  /** Whether there are so many runs that not all were looked at. */
  readonly areMore: boolean;
}

/**
 * What `--mine` means (contract: "The command-line tool"), newest first. The key's id is the given `actor` of the org; a
 * service that doesn't choose runs by itself lists those of others too.
 *
 * @throws PipelineError as `ServiceClient.org`; an `AbsentEndpoint` where that answers and the runs can't be listed; the
 * signal's reason when it aborts.
 */
export async function myActiveRuns(client: ServiceClient, signal: AbortSignal): Promise<MyRuns> {
  const { actor: me } = await client.org(signal);
  // Also those of others, which hold no more slots than an org has: nobody's are among them.
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
 * Cancels runs, four at the same time, and says what became of each, in their order. One that has stopped already counts
 * as cancelled, also where the service takes that for an error. While the service is out of reach each is asked for once,
 * and after eight in a row none any more: they fail for the same reason.
 *
 * @param onOutcome told of each as soon as it is known.
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
  // How many in a row were out of reach, each for as long as the client has patience: that is what the next will meet.
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
    const mayHaveStopped =
      error instanceof PipelineError && (error.type === "conflict" || error.type === "not-found");
    const status = mayHaveStopped ? await statusIfStopped(client, runId, signal) : undefined;
    return status === undefined ? { runId, kind: "failed", error } : { runId, kind: "cancelled", status };
  }
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

/** How often a cancel is sent whose answer doesn't come. */
const cancelAttempts = 3;

/**
 * Cancels a run, also over a broken line. One that has stopped meanwhile needs no cancelling.
 * @returns what the service says; undefined for a run that has stopped.
 * @param service the service as it was found last; `reconnect` changes it.
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
      // It is repeated here, not by the client as well.
      return await service().withoutRetries().cancel(runId, signal);
    } catch (error) {
      const hasStopped =
        error instanceof PipelineError && (error.type === "conflict" || error.type === "not-found");
      if (hasStopped) return undefined;
      if (!mayHaveRestarted(error) || attempt >= cancelAttempts) throw error;
      await clock.sleep(pauses.next().value, signal);
      await findAgain(service(), reconnect, signal);
    }
  }
}
