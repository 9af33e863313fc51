import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PipelineError } from "../../contract/errors.ts";
import type { Queue } from "../../contract/org.ts";
import type { Run, StartRequest } from "../../contract/run.ts";
import { isActive } from "../../contract/runStatus.ts";
import type { QueuePlace } from "../../text/refusalText.ts";
import { watchQueue } from "../follow/events.ts";
import type { ServiceClient, StartAttempt, StartOptions } from "../service/client.ts";
import { Deadline } from "../service/deadline.ts";
import { findAgain, mayHaveRestarted, type Reconnect } from "../service/failedRequest.ts";
import { OutOfReach } from "../service/reachFaults.ts";
import { LostStart } from "../service/replyErrors.ts";
import { growingPauses } from "../service/retry.ts";

/** The outcome of a start request whose reply was lost. */
export type LostReply =
  | { readonly kind: "run"; readonly run: Run }
  | { readonly kind: "none" }
  /** `runId` is set if at least that is known. */
  | { readonly kind: "unknown"; readonly runId: string | undefined };

/** How long the service may take to list the caller's runs, and then to repeat its reply. */
const listWithinSeconds = 2;
const replyWithinSeconds = 5;
const longestPage = 100;
const absences: readonly string[] = ["not-found", "not-supported"];

/**
 * The attempts of one start request. All carry the same idempotency key, so that they start at most one run, and that run can be
 * found if a reply was lost.
 */
export class StartAttempts {
  readonly #request: StartRequest;
  readonly #reconnect: Reconnect | undefined;
  /** Sent with every attempt. */
  readonly #named: Pick<StartOptions, "idempotencyKey" | "agent">;
  #client: ServiceClient;
  /** Whether an attempt may have started a run whose reply was lost. */
  isInDoubt = false;
  #runId: string | undefined;
  /** This machine's clocks before the first attempt, in milliseconds. */
  readonly #began: { readonly now: number; readonly monotonic: number };

  constructor(
    request: StartRequest,
    {
      client,
      reconnect,
      agent,
    }: {
      readonly client: ServiceClient;
      readonly reconnect?: Reconnect | undefined;
      /** See `agentHeader`. */
      readonly agent?: string | undefined;
    },
  ) {
    this.#request = request;
    this.#client = client;
    this.#reconnect = reconnect;
    this.#named = { idempotencyKey: randomUUID(), agent };
    this.#began = { now: client.clock.now(), monotonic: client.clock.monotonic() };
  }

  /** The service where it was last found. */
  get client(): ServiceClient {
    return this.#client;
  }

  /**
   * Sends the request once. @param waitSeconds how long the service may hold it; 0 asks for a reply at once.
   * @throws as {@link sendStart}.
   */
  async attempt(waitSeconds: number, signal: AbortSignal): Promise<StartAttempt> {
    signal.throwIfAborted();
    const options = { waitSeconds, ...this.#named };
    try {
      const reply = await sendStart(this.#client, this.#request, options, signal);
      this.isInDoubt = false;
      return reply;
    } catch (error) {
      if (error instanceof LostStart) this.#runId ??= error.runId;
      if (mayHaveArrived(error) || (signal.aborted && error === signal.reason)) this.isInDoubt = true;
      throw error;
    }
  }

  /**
   * Calls `onPlace` with the request's queue position now and after each change; undefined if nobody else waits.
   * @throws as `watchQueue`.
   */
  watchPlace(onPlace: (place: QueuePlace | undefined) => void, signal: AbortSignal): Promise<void> {
    const onQueue = ({ place, waiting }: Queue) =>
      onPlace(place === undefined || waiting === 1 ? undefined : { place, waiting });
    return watchQueue(this.#client, this.#named.idempotencyKey, onQueue, signal);
  }

  /** Finds the service again after a failure. @returns whether it has moved. @throws as `findAgain`. */
  async reconnect(signal: AbortSignal): Promise<boolean> {
    const before = this.#client;
    this.#client = await findAgain(before, this.#reconnect, signal);
    return this.#client !== before;
  }

  /**
   * Finds out, within some seconds, what became of the request. If the service lists a run that may be the requested one, the
   * request is sent again: its key returns that run.
   * @param isWanted whether the caller still wants a run; if not, only an active one matters.
   */
  async find(isWanted: boolean): Promise<LostReply> {
    if (this.#runId !== undefined) return { kind: "unknown", runId: this.#runId };
    const { clock, random } = this.#client;
    using deadline = new Deadline(clock, new AbortController().signal, listWithinSeconds);
    const pauses = growingPauses(random);
    for (let isListed = false; ; ) {
      try {
        if (!isListed) {
          if (!(await this.#isListed(isWanted, deadline.signal))) return { kind: "none" };
          isListed = true;
          deadline.arm(replyWithinSeconds);
        }
        const options = { waitSeconds: 0, ...this.#named };
        const reply = await this.#client.start(this.#request, options, deadline.signal);
        return reply.kind === "started" ? { kind: "run", run: reply.run } : { kind: "none" };
      } catch (error) {
        // If the endpoint or the pipeline doesn't exist, no attempt has started a run.
        const isAbsent = error instanceof PipelineError && absences.includes(error.type);
        if (isListed && isAbsent) return { kind: "none" };
        const unknown = {
          kind: "unknown",
          runId: error instanceof LostStart ? error.runId : undefined,
        } as const;
        if (!mayHaveRestarted(error) || error instanceof LostStart) return unknown;
        try {
          if (error instanceof OutOfReach) await clock.sleep(pauses.next().value, deadline.signal);
          const hasMoved = await this.reconnect(deadline.signal);
          if (!hasMoved && !(error instanceof OutOfReach)) return unknown;
        } catch {
          return unknown;
        }
      }
    }
  }

  /**
   * Whether a run of the caller's key may be the requested one. If no run is wanted any more, an older run doesn't count: sending
   * the request again could start another. Fields that a service omits rule nothing out.
   */
  async #isListed(isWanted: boolean, signal: AbortSignal): Promise<boolean> {
    const { pipeline, project = "" } = this.#request;
    const query = { mine: true, pipeline, limit: longestPage, ...(isWanted ? {} : { active: true }) };
    const { page, servedAt = Number.NaN } = await this.#client.withoutRetries().runsAndTime(query, signal);
    const earliest = servedAt - this.#elapsed();
    return page.runs.some(
      (run) =>
        (isWanted || (isActive(run) && !(Date.parse(run.createdAt ?? "") < earliest))) &&
        (run.pipeline ?? pipeline) === pipeline &&
        (project === "" || (run.project ?? project) === project),
    );
  }

  /** Milliseconds since before the first attempt. The monotonic clock may stop while the machine sleeps. */
  #elapsed(): number {
    const { now, monotonic } = this.#client.clock;
    return Math.max(now() - this.#began.now, monotonic() - this.#began.monotonic);
  }
}

/** Whether a failed attempt may have reached the service. */
function mayHaveArrived(error: unknown): boolean {
  if (error instanceof LostStart) return true;
  if (!(error instanceof OutOfReach)) return false;
  return error.fault === "dropped" || error.fault === "timed-out" || error.fault === "unavailable";
}

/** How many seconds a reply is awaited after an abort. */
const lastReplySeconds = 2;

/**
 * Sends a start request so that an abort doesn't lose its reply: the service may have started the run, so a reply that is on its
 * way is awaited for 2 s more. A request that the service holds is ended at once, which leaves the queue.
 *
 * @returns the reply, even after an abort.
 * @throws as `ServiceClient.start`; the signal's reason if its abort ended the request.
 */
async function sendStart(
  client: ServiceClient,
  request: StartRequest,
  options: StartOptions,
  signal: AbortSignal,
): Promise<StartAttempt> {
  const tooLate = new AbortController();
  const done = new AbortController();
  let isReplying = options.waitSeconds === 0;
  const onAnswering = (): void => {
    isReplying = true;
  };
  const leave = async (): Promise<void> => {
    if (!isReplying) await arrivedIsRead();
    if (isReplying) await client.clock.sleep(lastReplySeconds * 1000, done.signal).catch(() => undefined);
    tooLate.abort(signal.reason);
  };
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await client.start(request, { ...options, onAnswering }, tooLate.signal);
  } finally {
    signal.removeEventListener("abort", leave);
    done.abort();
  }
}

/** Resolves after a full turn of the event loop, which reads whatever has arrived at this machine. */
async function arrivedIsRead(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
