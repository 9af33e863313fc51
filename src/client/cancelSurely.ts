import { PipelineError } from "../contract/errors.ts";
import type { CancelReply } from "../contract/run.ts";
import { foundAnew, mayHaveMoved, type Reconnect } from "./foundAnew.ts";
import type { ServiceClient } from "./http/serviceClient.ts";
import { growingPauses } from "./pauses.ts";

/** How often a cancel is sent whose answer doesn't come. */
const cancelAttempts = 3;

/**
 * Cancels a run, also over a broken line. One that has stopped meanwhile needs no cancelling.
 * @returns what the service says; undefined for a run that has stopped.
 * @param service the service as it was found last; `reconnect` changes it.
 * @throws PipelineError as `ServiceClient.cancel`, but not for a run that has stopped; the signal's reason.
 */
export async function cancelSurely(
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
      if (!mayHaveMoved(error) || attempt >= cancelAttempts) throw error;
      await clock.sleep(pauses.next().value, signal);
      await foundAnew(service(), reconnect, signal);
    }
  }
}
