import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PipelineError } from "../contract/errors.ts";
import type { Run, StartRequest } from "../contract/run.ts";
import { Deadline } from "./deadline.ts";
import type { ServiceClient, StartAttempt } from "./http/serviceClient.ts";

export interface Attempt {
  readonly client: ServiceClient;
  readonly request: StartRequest;
  readonly idempotencyKey: string;
  /** How long the service may hold it; 0 asks for an answer at once. */
  readonly waitSeconds: number;
  /** Called with a run that was started although the signal had aborted; it was asked to be cancelled already. */
  readonly onUnwanted: ((run: Run) => void) | undefined;
}

/** How much longer an attempt may take once nobody wants its run any more. */
const partingSeconds = 2;

/**
 * One attempt that is not broken off by the signal while it is being answered: the service may have started the run
 * already, and a run whose id nobody learnt is in work with nobody to follow or cancel it. So its answer is awaited for
 * 2 s more, and a run that it tells of is cancelled. One that the service holds, and of whose answer nothing has
 * arrived, is broken off: that gives up the turn. Its answer may have been on the way, so the service is asked whether
 * the wish was granted, and that run is cancelled as well.
 *
 * @throws as `ServiceClient.start`; the signal's reason when it has aborted, whatever the answer was.
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
  let answer: StartAttempt;
  try {
    answer = await client.start(request, { waitSeconds, idempotencyKey, onAnswering }, tooLate.signal);
  } catch (error) {
    if (signal.aborted && !isAnswering) await cancelGranted(attempt);
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", part);
    over.abort();
  }
  if (signal.aborted && answer.kind === "started") await cancelUnwanted(attempt, answer.run);
  signal.throwIfAborted();
  return answer;
}

/** An answer that has come to this machine is known of only when the event loop has looked: within its next full turn. */
async function whatIsHereIsRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/**
 * Cancels the run of a wish whose answer is not known, where there is one. The wish can't simply be repeated to hear of
 * it: where it was not granted, that would start a run. So its key is sent with a pipeline that can't be there, which the
 * service answers with `conflict` exactly when the key has started a run; only then is the wish repeated.
 */
async function cancelGranted(attempt: Attempt): Promise<void> {
  const { client, request, idempotencyKey } = attempt;
  using deadline = new Deadline(client.clock, new AbortController().signal);
  deadline.arm(partingSeconds);
  const repeat = async (pipeline: string): Promise<void> => {
    const options = { waitSeconds: 0, idempotencyKey };
    const answer = await client.start({ ...request, pipeline }, options, deadline.signal);
    if (answer.kind === "started") await cancelUnwanted(attempt, answer.run);
  };
  try {
    await repeat(`(given up) ${randomUUID()}`);
  } catch (error) {
    if (!(error instanceof PipelineError) || error.type !== "conflict") return;
    await repeat(request.pipeline).catch(() => undefined);
  }
}

/** With a signal of its own, since the wish's has aborted; the client gives up by itself after some seconds. */
async function cancelUnwanted({ client, onUnwanted }: Attempt, run: Run): Promise<void> {
  try {
    await client.cancel(run.runId, new AbortController().signal);
  } catch {
    // Whoever aborted waits for nothing but the end of the start; the run's time limit ends what can't be cancelled.
  }
  onUnwanted?.(run);
}
