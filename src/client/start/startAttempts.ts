import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PipelineError } from "../../contract/errors.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import type { ServiceClient, StartAttempt } from "../service/client.ts";
import { Deadline } from "../service/deadline.ts";
import { foundAnew, mayHaveMoved, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { LostStart } from "../service/replyErrors.ts";
import { growingPauses } from "../service/retry.ts";

/** What became of a wish whose answer was lost. */
export type Granted =
  | { readonly kind: "run"; readonly run: Run }
  | { readonly kind: "none" }
  /** Its id, where that much is known. */
  | { readonly kind: "unknown"; readonly runId: string | undefined };

/** How long the service may take to say whether there is a run, and then to tell it. */
const answerWithinSeconds = 2;
const runWithinSeconds = 5;

/**
 * One wish for a run. All its attempts carry the same key, so that at most one run comes of it, and that run can be
 * found when the answer to an attempt was lost.
 */
export class StartWish {
  readonly #request: StartRequest;
  readonly #reconnect: Reconnect | undefined;
  readonly #idempotencyKey = randomUUID();
  #client: ServiceClient;
  #isInDoubt = false;
  #runId: string | undefined;

  constructor(request: StartRequest, client: ServiceClient, reconnect: Reconnect | undefined) {
    this.#request = request;
    this.#client = client;
    this.#reconnect = reconnect;
  }

  /** The service as it was found last. */
  get client(): ServiceClient {
    return this.#client;
  }

  /** Whether an attempt may have started a run that nobody was told of. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /**
   * One attempt. @param waitSeconds how long the service may hold it; 0 asks for an answer at once.
   * @throws as `answeredStart`.
   */
  async attempt(waitSeconds: number, signal: AbortSignal): Promise<StartAttempt> {
    signal.throwIfAborted();
    const attempt = {
      client: this.#client,
      request: this.#request,
      idempotencyKey: this.#idempotencyKey,
      waitSeconds,
    };
    try {
      const answer = await answeredStart(attempt, signal);
      this.#isInDoubt = false;
      return answer;
    } catch (error) {
      if (error instanceof LostStart) this.#runId ??= error.runId;
      if (mayHaveArrived(error) || (signal.aborted && error === signal.reason)) this.#isInDoubt = true;
      throw error;
    }
  }

  /** Looks for the service after a break. @returns whether it has moved. @throws as `foundAnew`. */
  async lookAnew(signal: AbortSignal): Promise<boolean> {
    const before = this.#client;
    this.#client = await foundAnew(before, this.#reconnect, signal);
    return this.#client !== before;
  }

  /**
   * Asks, for some seconds at most, whether the wish was granted. It can't simply be repeated to hear of it: where it was
   * not granted, that would start a run. So its key is sent with a pipeline that can't be there, which the service
   * answers with `conflict` exactly when the key has started a run; only then is the wish repeated.
   */
  async find(): Promise<Granted> {
    if (this.#runId !== undefined) return { kind: "unknown", runId: this.#runId };
    const { clock, random } = this.#client;
    using deadline = new Deadline(clock, new AbortController().signal);
    deadline.arm(answerWithinSeconds);
    const pauses = growingPauses(random);
    let request = { ...this.#request, pipeline: `(looking for a lost start) ${randomUUID()}` };
    const options = { waitSeconds: 0, idempotencyKey: this.#idempotencyKey };
    for (;;) {
      try {
        const answer = await this.#client.start(request, options, deadline.signal);
        if (answer.kind === "refused") return { kind: "none" };
        const { run } = answer;
        // A service that looks at no key has started what can't be there.
        return run.pipeline === this.#request.pipeline
          ? { kind: "run", run }
          : { kind: "unknown", runId: run.runId };
      } catch (error) {
        if (error instanceof PipelineError) {
          if (error.type === "conflict" && request.pipeline !== this.#request.pipeline) {
            request = { ...this.#request };
            deadline.arm(runWithinSeconds);
            continue;
          }
          // Who lacks the endpoint has started nothing by it.
          if (error.type === "not-found" || error.type === "not-supported") return { kind: "none" };
        }
        const runId = error instanceof LostStart ? error.runId : undefined;
        if (!mayHaveMoved(error) || error instanceof LostStart) return { kind: "unknown", runId };
        try {
          if (error instanceof OutOfReach) await clock.sleep(pauses.next().value, deadline.signal);
          const hasMoved = await this.lookAnew(deadline.signal);
          if (!hasMoved && !(error instanceof OutOfReach)) return { kind: "unknown", runId };
        } catch {
          return { kind: "unknown", runId };
        }
      }
    }
  }
}

/** Whether an attempt that failed like that may have reached the service all the same. */
function mayHaveArrived(error: unknown): boolean {
  if (error instanceof LostStart) return true;
  if (!(error instanceof OutOfReach)) return false;
  return error.fault === "dropped" || error.fault === "timed-out" || error.fault === "unavailable";
}

interface Attempt {
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
async function answeredStart(attempt: Attempt, signal: AbortSignal): Promise<StartAttempt> {
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
