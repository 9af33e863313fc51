import { setImmediate as nextTurn } from "node:timers/promises";
import type { StartRequest } from "../contract/run.ts";
import type { ServiceClient, StartAttempt, StartOptions } from "./http/serviceClient.ts";

/** How much longer an attempt may take once nobody wants its run any more. */
const partingMilliseconds = 2000;

/**
 * One attempt that is not broken off by the signal while it is being answered: the service may have started the run
 * already, and a run whose id nobody learnt is in work with nobody to follow or cancel it. So its answer is awaited for
 * 2 s more, and a run that it tells of is cancelled. One that the service holds, and of whose answer nothing has
 * arrived, is broken off: that gives up the turn.
 *
 * @throws as `ServiceClient.start`; the signal's reason when it has aborted, whatever the answer was.
 */
export async function answeredStart(
  client: ServiceClient,
  request: StartRequest,
  options: Pick<StartOptions, "waitSeconds" | "idempotencyKey">,
  signal: AbortSignal,
): Promise<StartAttempt> {
  signal.throwIfAborted();
  const tooLate = new AbortController();
  const over = new AbortController();
  let isAnswering = options.waitSeconds === 0;
  const onAnswering = (): void => {
    isAnswering = true;
  };
  const part = async (): Promise<void> => {
    if (!isAnswering) await whatIsHereIsRead();
    if (isAnswering) await client.clock.sleep(partingMilliseconds, over.signal).catch(() => undefined);
    tooLate.abort(signal.reason);
  };
  signal.addEventListener("abort", part, { once: true });
  let attempt: StartAttempt;
  try {
    attempt = await client.start(request, { ...options, onAnswering }, tooLate.signal);
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

/** An answer that has come to this machine is known of only when the event loop has looked: within its next full turn. */
async function whatIsHereIsRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** With a signal of its own, since the wish's has aborted; the client gives up by itself after some seconds. */
async function cancelUnwanted(client: ServiceClient, runId: string): Promise<void> {
  try {
    await client.cancel(runId, new AbortController().signal);
  } catch {
    // Whoever aborted waits for nothing but the end of the start; the run's time limit ends what can't be cancelled.
  }
}
