import { setImmediate as nextTurn } from "node:timers/promises";
import type { StartRequest } from "../contract/run.ts";
import type { ServiceClient, StartAttempt } from "./http/serviceClient.ts";

export interface Attempt {
  readonly client: ServiceClient;
  readonly request: StartRequest;
  readonly idempotencyKey: string;
  /** How long the service may hold it; 0 asks for an answer at once. */
  readonly waitSeconds: number;
}

/** How much longer an attempt may take once nobody wants its run any more. */
const partingSeconds = 2;

/**
 * One attempt that is not broken off by the signal while it is being answered: the service may have started the run
 * already, so its answer is awaited for 2 s more. One that the service holds, and of whose answer nothing has arrived, is
 * broken off: that gives up the turn.
 *
 * @returns the answer, also when the signal has aborted.
 * @throws as `ServiceClient.start`; the signal's reason when the answer isn't known because of its abort.
 */
export async function answeredStart(attempt: Attempt, signal: AbortSignal): Promise<StartAttempt> {
  signal.throwIfAborted();
  const { client, request, waitSeconds, idempotencyKey } = attempt;
  const tooLate = new AbortController();
  const over = new AbortController();
  let isAnswering = waitSeconds === 0;
  const onAnswering = (): void => {
    isAnswering = true;
  };
  const part = async (): Promise<void> => {
    if (!isAnswering) await whatIsHereIsRead();
    if (isAnswering) await client.clock.sleep(partingSeconds * 1000, over.signal).catch(() => undefined);
    tooLate.abort(signal.reason);
  };
  signal.addEventListener("abort", part, { once: true });
  try {
    return await client.start(request, { waitSeconds, idempotencyKey, onAnswering }, tooLate.signal);
  } finally {
    signal.removeEventListener("abort", part);
    over.abort();
  }
}

/** An answer that has come to this machine is known of only when the event loop has looked: within its next full turn. */
async function whatIsHereIsRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
