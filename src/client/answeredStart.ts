import type { StartRequest } from "../contract/run.ts";
import type { ServiceClient, StartAttempt } from "./http/serviceClient.ts";

/** How much longer an attempt may take once nobody wants its run any more. */
const partingMilliseconds = 2000;

/**
 * One attempt that asks for an answer at once, and is not broken off by the signal: the service may have started the
 * run already, and a run whose id nobody learnt is in work with nobody to follow or cancel it. So its answer is awaited
 * for 2 s more, and a run that it tells of is cancelled.
 *
 * @throws as `ServiceClient.start`; the signal's reason when it has aborted, whatever the answer was.
 */
export async function answeredStart(
  client: ServiceClient,
  request: StartRequest,
  idempotencyKey: string,
  signal: AbortSignal,
): Promise<StartAttempt> {
  signal.throwIfAborted();
  const tooLate = new AbortController();
  const over = new AbortController();
  const part = (): void => {
    client.clock.sleep(partingMilliseconds, over.signal).then(
      () => tooLate.abort(signal.reason),
      () => undefined,
    );
  };
  signal.addEventListener("abort", part, { once: true });
  let attempt: StartAttempt;
  try {
    attempt = await client.start(request, { waitSeconds: 0, idempotencyKey }, tooLate.signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", part);
    over.abort();
  }
  if (signal.aborted && attempt.kind === "started") await cancelUnwanted(client, attempt.run.runId);
  signal.throwIfAborted();
  return attempt;
}

/** With a signal of its own, since the wish's has aborted; the client gives up by itself after 10 s. */
async function cancelUnwanted(client: ServiceClient, runId: string): Promise<void> {
  try {
    await client.cancel(runId, new AbortController().signal);
  } catch {
    // Whoever aborted waits for nothing but the end of the start; the run's time limit ends what can't be cancelled.
  }
}
