import type { Clock } from "../../contract/clock.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { ActiveRuns } from "../runs/activeRuns.ts";
import type { Write } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import {
  type Answer,
  countSlots,
  type Decision,
  type DecisionDeps,
  dayOf,
  enter,
  expire,
  findRepeated,
  grantSlots,
  type KeyedRequest,
} from "./decisions.ts";
import { removeWaiter, sweepWaiters } from "./queue.ts";
import { type EnterOutcome, type EnterRequest, Waiter } from "./waiter.ts";

export interface AdmissionDeps extends Omit<DecisionDeps, "replies" | "runs" | "now"> {
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly log: Log;
  readonly runs: Pick<ActiveRuns, "hold" | "join" | "letGo" | "isWithdrawn" | "withdraw">;
}

/**
 * Who gets a slot: first come, first served. All of it is decided in two kinds of transactions, `enter` and `release`, by
 * rows alone: the slots in use and the day's count are counted from the runs, the queue is the rows of `waiters`. Memory has
 * only the open reply behind each ticket. A decision is told once it is committed; whoever has left by then has its run
 * withdrawn.
 */
export class Admission {
  readonly #deps: AdmissionDeps;
  readonly #replies = new Map<string, Waiter>();
  #isClosed = false;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** How many requests wait, in all orgs. */
  get waiting(): number {
    return this.#replies.size;
  }

  /**
   * Asks for a slot, waiting for it for up to `waitSeconds` (0: not at all). A used-up day is told at once. Whoever is
   * given a run has to launch or to withdraw it, also one that was there already.
   * @throws the signal's reason when the caller leaves, and what the database throws: then there is no run.
   */
  enter(request: EnterRequest, waitSeconds: number, signal: AbortSignal): Promise<EnterOutcome> {
    const { clock, bus } = this.#deps;
    const reply = new Waiter(request, waitSeconds > 0);
    const leave = () => this.#leave(reply, signal.reason);
    const stopTimer = reply.mayWait ? clock.after(waitSeconds * 1000, () => this.#expire(reply)) : () => {};
    signal.addEventListener("abort", leave, { once: true });
    const done = () => {
      stopTimer();
      signal.removeEventListener("abort", leave);
      if (reply.ticket !== undefined) this.#replies.delete(reply.ticket);
    };
    reply.outcome.then(done, done);
    if (signal.aborted) leave();
    this.#decide(async (decision) => {
      if (this.#isClosed) throw serviceStops();
      if (reply.isOpen) await enter(decision, reply);
    }).then(
      () => reply.ticket !== undefined && bus.emit(request.orgId, { kind: "org" }),
      (error: unknown) => reply.leave(error),
    );
    return reply.outcome;
  }

  /**
   * Writes what ends a run, and gives its slot to the one who has waited for longest, in one commit.
   * @throws what the database throws: then neither has happened, and nobody's wait ends by it.
   */
  release<T>(orgId: string, end: (tx: Write) => Promise<T>): Promise<T> {
    return this.#decide(async (decision) => {
      const ended = await end(decision.tx);
      await grantSlots(decision, await countSlots(decision, orgId));
      return ended;
    });
  }

  /** As `enter` for a pipeline that is there no more: only what the key has started already. */
  async repeated(request: KeyedRequest): Promise<EnterOutcome | undefined> {
    const { runs } = this.#deps;
    let joined: string | undefined;
    try {
      // A write, so that no withdrawal comes between the look and the answer.
      return await this.#decide(async (decision) => {
        const run = await findRepeated(decision.tx, request);
        if (run === undefined || runs.isWithdrawn(run.runId)) return undefined;
        const day = dayOf(await countSlots(decision, request.orgId));
        joined = run.runId;
        runs.join(joined);
        return { kind: "repeated", run, day };
      });
    } catch (error) {
      if (joined !== undefined) runs.withdraw(joined);
      throw error;
    }
  }

  /** Sweeps what a start of the service before has left in the queue: its callers are gone. */
  async recover(): Promise<void> {
    await this.#deps.writer.write((tx) => sweepWaiters(tx, this.#deps.holder));
  }

  /** Sends everyone who waits away, and whoever comes later: the service is about to end. Resolves when no start is being decided any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const reply of this.#replies.values()) this.#leave(reply, serviceStops());
    // Behind all that is being decided now.
    await this.#deps.writer.write(async () => {}).catch(() => {});
  }

  /** Commits a decision, and then tells it. Runs are held from before the commit, and let go when there is none. */
  async #decide<T>(act: (decision: Decision) => Promise<T>): Promise<T> {
    const { runs, writer, clock } = this.#deps;
    const answers: Answer[] = [];
    try {
      const decided = await writer.write((tx) =>
        act({ ...this.#deps, now: clock.now, replies: this.#replies, tx, answers }),
      );
      for (const answer of answers) this.#tell(answer);
      return decided;
    } catch (error) {
      for (const answer of answers) {
        if (!("outcome" in answer)) continue;
        const { outcome } = answer;
        if (outcome.kind === "started") runs.letGo(outcome.run.runId);
        if (outcome.kind === "repeated") runs.withdraw(outcome.run.runId);
      }
      throw error;
    }
  }

  #tell(answer: Answer): void {
    const { bus, runs } = this.#deps;
    const { reply } = answer;
    if ("error" in answer) {
      reply.leave(answer.error);
      return;
    }
    const { outcome } = answer;
    if (!reply.give(outcome) && outcome.kind !== "refused") runs.withdraw(outcome.run.runId);
    // Of the run itself nobody is told before its caller: it may yet be withdrawn.
    if (outcome.kind === "started" || reply.ticket !== undefined) {
      bus.emit(reply.request.orgId, { kind: "org" });
    }
  }

  #expire(reply: Waiter): void {
    reply.mayWait = false;
    const { ticket } = reply;
    if (ticket === undefined) return;
    this.#decide((decision) => expire(decision, reply, ticket)).catch((error: unknown) => reply.leave(error));
  }

  #leave(reply: Waiter, why: unknown): void {
    if (!reply.isOpen) return;
    reply.leave(why);
    const { ticket } = reply;
    if (ticket === undefined) return;
    const { writer, log, bus } = this.#deps;
    writer
      .write((tx) => removeWaiter(tx, ticket))
      .then(
        () => bus.emit(reply.request.orgId, { kind: "org" }),
        // It is nobody's now, and removed when it would be its turn.
        (error: unknown) => log("error", "a waiter who left could not be removed", { error }),
      );
  }
}

function serviceStops(): PipelineError {
  return new PipelineError("internal", "The service is stopping.", { next: "Try again in a moment." });
}
