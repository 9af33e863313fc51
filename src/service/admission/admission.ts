import { utcDay } from "../../contract/day.ts";
import { PipelineError } from "../../contract/errors.ts";
import type { Queue } from "../../contract/queue.ts";
import type { Clock } from "../../machine/clock.ts";
import type { EventBus } from "../eventBus.ts";
import type { Log } from "../log.ts";
import type { Runs } from "../runs/runs.ts";
import type { Database, Write } from "../store/tables.ts";
import type { Writer } from "../store/writer.ts";
import { enter, expire } from "./enter.ts";
import {
  type Decision,
  type DecisionDeps,
  type Delivery,
  findRepeated,
  grantSlots,
  type KeyedRequest,
} from "./grant.ts";
import { firstWaiters, isQueued, readQueue, removeWaiter, sweepWaiters, type WaitingStart } from "./queue.ts";
import { countSlots, quotaOf } from "./slots.ts";
import { type EnterOutcome, type EnterRequest, Waiter } from "./waiter.ts";

export interface AdmissionDeps<R extends Runs> extends Omit<DecisionDeps, "waiters" | "runs"> {
  readonly db: Database;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly log: Log;
  /** Makes the active runs, which give up their slots by `release`. */
  readonly makeRuns: (release: Admission<R>["release"]) => R;
  /** Called with how long a decision took, and a grant took until the waiter's server had it, in milliseconds. */
  readonly observe?: (what: "admission" | "handOver", milliseconds: number) => void;
}

/**
 * Who gets a slot: first come, first served. Two kinds of transactions decide it, `enter` and `release`, by rows alone:
 * the slots in use and the day's count are counted from the runs, the queue is the rows of `waiters`. Memory holds only
 * the open reply of each ticket. A decision is delivered after its commit; a run whose caller has left by then is withdrawn.
 */
export class Admission<R extends Runs = Runs> {
  readonly runs: R;
  readonly #deps: AdmissionDeps<R>;
  readonly #waiters = new Map<string, Waiter>();
  /** The start requests that are being decided. */
  readonly #entering = new Set<Promise<void>>();
  #isClosed = false;

  constructor(deps: AdmissionDeps<R>) {
    this.#deps = deps;
    this.runs = deps.makeRuns((orgId, end) => this.release(orgId, end));
  }

  /** The number of requests that wait, in all orgs. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Asks for a slot, and waits for it for up to `waitSeconds` (0: not at all). A used-up day is refused at once. Whoever
   * gets a run has to launch or to withdraw it, also a repeated one.
   * @throws the signal's reason when the caller leaves, and what the database throws: then there is no run.
   */
  enter(request: EnterRequest, waitSeconds: number, signal: AbortSignal): Promise<EnterOutcome> {
    const { clock, bus } = this.#deps;
    const waiter = new Waiter(request, waitSeconds > 0);
    const leave = () => this.#leave(waiter, signal.reason);
    const cancelTimer = waiter.mayWait
      ? clock.after(waitSeconds * 1000, () => this.#expire(waiter))
      : () => {};
    signal.addEventListener("abort", leave, { once: true });
    const done = () => {
      cancelTimer();
      signal.removeEventListener("abort", leave);
      if (waiter.ticket !== undefined) this.#waiters.delete(waiter.ticket);
    };
    waiter.outcome.then(done, done);
    if (signal.aborted) leave();
    const entering = this.#decide(request.orgId, async (decision) => {
      if (this.#isClosed) throw serviceStopping();
      if (waiter.state === "waiting") await enter(decision, waiter);
    }).then(
      () => {
        if (this.#isClosed) waiter.leave(serviceStopping());
        // Its caller may have left before it had a ticket.
        else if (waiter.state === "left") this.#dequeue(waiter);
        else if (waiter.ticket !== undefined) bus.emit(request.orgId, { kind: "org" });
      },
      (error: unknown) => waiter.leave(error),
    );
    this.#entering.add(entering);
    void entering.then(() => this.#entering.delete(entering));
    return waiter.outcome;
  }

  /**
   * Writes what ends a run, and grants its slot to the oldest waiter in the same commit.
   * @param end is given the time of the decision, so that no run begins before the one whose slot it has ended.
   * @throws what the database throws: then neither has happened.
   */
  release<T>(orgId: string, end: (tx: Write, now: number) => Promise<T>): Promise<T> {
    return this.#decide(orgId, async (decision) => {
      const ended = await end(decision.tx, decision.now);
      await grantSlots(decision, await countSlots(decision.tx, orgId, decision.now));
      return ended;
    });
  }

  /** Like `enter` for a pipeline that is gone: only what the idempotency key has started already. */
  async repeated(request: KeyedRequest): Promise<EnterOutcome | undefined> {
    let joined: string | undefined;
    try {
      // A write, so that the run isn't withdrawn before the answer.
      return await this.#decide(request.orgId, async ({ tx, runs, now, store }) => {
        const run = await findRepeated(tx, request);
        if (run === undefined || runs.granted?.isWithdrawn(run.runId)) return undefined;
        await store.keep(tx, run.runId, now);
        const quota = quotaOf(await countSlots(tx, request.orgId, now));
        runs.granted?.join(run.runId);
        joined = runs.granted && run.runId;
        return { kind: "repeated", run, quota };
      });
    } catch (error) {
      if (joined !== undefined) this.runs.withdraw(joined);
      throw error;
    }
  }

  /** How many start requests wait for a slot of the org, and the place of the one with the caller's idempotency key. */
  queue(request: Parameters<typeof readQueue>[2]): Promise<Queue> {
    const { db, store } = this.#deps;
    return readQueue(db, store.isWaiting, request);
  }

  /** The start requests that wait for a slot of the org, who came first before the others. */
  firstWaiters(orgId: string, limit: number): Promise<WaitingStart[]> {
    const { db, store } = this.#deps;
    return firstWaiters(db, store.isWaiting, orgId, limit);
  }

  /** The tickets of an org's open replies; of all orgs, if left out. */
  tickets(orgId?: string): { readonly orgId: string; readonly ticket: string }[] {
    return [...this.#waiters]
      .map(([ticket, { request }]) => ({ ticket, orgId: request.orgId }))
      .filter((waiter) => orgId === undefined || waiter.orgId === orgId);
  }

  /** Answers the waiters that other servers have granted runs to. A run whose waiter has left is withdrawn. */
  async claim(): Promise<void> {
    const { store, db, holder, clock, observe } = this.#deps;
    for (const { ticket, run, quota } of await store.claim(db, holder, utcDay(clock.now()))) {
      observe?.("handOver", clock.now() - Date.parse(run.createdAt));
      const waiter = this.#waiters.get(ticket);
      if (waiter === undefined) this.runs.withdraw(run.runId);
      else this.#deliver({ waiter, outcome: { kind: "started", run, quota } });
    }
  }

  /** Puts a waiter back whose ticket another server has taken out of the queue without a run for it. */
  async reenter(ticket: string): Promise<void> {
    const waiter = this.#waiters.get(ticket);
    if (waiter?.state !== "waiting") return;
    await this.#decide(waiter.request.orgId, async (decision) => {
      const isOpen = waiter.state === "waiting" && !(await isQueued(decision.tx, ticket));
      if (isOpen) await enter(decision, waiter);
    });
  }

  /** Removes the waiters that an earlier start of the service has left. */
  async recover(): Promise<void> {
    await this.#deps.writer.write((tx) => sweepWaiters(tx, this.#deps.holder));
  }

  /**
   * Turns away every later request, and all waiters. Resolves when no start is being decided any more.
   * @param retire sees to it that no other server grants those waiters anything from then on.
   */
  async close(retire: () => Promise<void> = async () => {}): Promise<void> {
    this.#isClosed = true;
    await retire();
    // What other servers have granted until then.
    await this.claim().catch((error: unknown) =>
      this.#deps.log("warn", "granted runs are not claimed", { error }),
    );
    // Their rows stay: where there are other servers, the same request sent again keeps its place.
    for (const waiter of this.#waiters.values()) waiter.leave(serviceStopping());
    await Promise.all(this.#entering);
  }

  /** Commits a decision and then delivers it. Runs are active from before the commit, and removed when it fails. */
  async #decide<T>(orgId: string, act: (decision: Decision) => Promise<T>): Promise<T> {
    const { runs } = this;
    const { writer, store } = this.#deps;
    const deliveries: Delivery[] = [];
    const began = this.#deps.clock.monotonic();
    try {
      const decided = await writer.write(async (tx) => {
        // PostgreSQL may ask for a transaction again.
        deliveries.splice(0);
        const now = await store.lock(tx, orgId);
        return act({ ...this.#deps, runs, now, waiters: this.#waiters, tx, deliveries });
      }, orgId);
      this.#deps.observe?.("admission", this.#deps.clock.monotonic() - began);
      for (const delivery of deliveries) this.#deliver(delivery);
      return decided;
    } catch (error) {
      for (const delivery of deliveries) {
        if (!("outcome" in delivery)) continue;
        const { outcome } = delivery;
        if (outcome.kind === "started") runs.granted?.remove(outcome.run.runId);
        // Where runs are rows alone, nothing was joined: it is the run of a caller who may have been told of it.
        if (outcome.kind === "repeated" && runs.granted !== undefined) runs.withdraw(outcome.run.runId);
      }
      throw error;
    }
  }

  #deliver(delivery: Delivery): void {
    const { waiter } = delivery;
    if ("error" in delivery) {
      waiter.leave(delivery.error);
      return;
    }
    const { outcome } = delivery;
    if (!waiter.answer(outcome) && outcome.kind !== "refused") this.runs.withdraw(outcome.run.runId);
    // No event of the run itself yet: until its caller knows of it, it may be withdrawn.
    if (outcome.kind === "started" || waiter.ticket !== undefined) {
      this.#deps.bus.emit(waiter.request.orgId, { kind: "org" });
    }
  }

  #expire(waiter: Waiter): void {
    waiter.mayWait = false;
    const { ticket } = waiter;
    if (ticket === undefined) return;
    this.#decide(waiter.request.orgId, (decision) => expire(decision, waiter, ticket)).catch(
      (error: unknown) => waiter.leave(error),
    );
  }

  #leave(waiter: Waiter, reason: unknown): void {
    if (waiter.state !== "waiting") return;
    waiter.leave(reason);
    this.#dequeue(waiter);
  }

  #dequeue({ ticket, request }: Waiter): void {
    if (ticket === undefined) return;
    const { writer, log, bus } = this.#deps;
    this.#waiters.delete(ticket);
    const removing = (async () => {
      // If not, another server may have granted it a run just now.
      if (!(await writer.write((tx) => removeWaiter(tx, ticket)))) await this.claim();
      bus.emit(request.orgId, { kind: "org" });
    })();
    // The next free slot takes it out of the queue: this server gives it nothing, and no one claims a run that another one gives it.
    removing.catch((error: unknown) => log("error", "a waiter who left could not be removed", { error }));
  }
}

function serviceStopping(): PipelineError {
  return new PipelineError("internal", "The service is stopping.", { next: "Try again in a moment." });
}
