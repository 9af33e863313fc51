import { PipelineError } from "../../contract/errors.ts";
import type { Runs } from "../runs/runs.ts";
import type { StoreDeps } from "../store/storeDeps.ts";
import type { Write } from "../store/tables.ts";
import type { Decision, DecisionDeps, Delivery } from "./decision.ts";
import { type EnterOutcome, type EnterRequest, Waiter } from "./decision.ts";
import { enter, expire, grantSlots, joinRepeated, type KeyedRequest } from "./grant.ts";
import { type OrgQueue, readQueue, removeWaiter } from "./queue.ts";
import { countSlots } from "./slots.ts";

export interface AdmissionDeps extends DecisionDeps, StoreDeps {
  readonly runs: Pick<Runs, "withdraw">;
}

/**
 * Decides who gets a slot: first come, first served. Three kinds of transactions decide: `enter`, `release` and `expire`.
 * They rely on rows alone: the used slots and the day's count are counted from the runs, the queue is the rows of `waiters`.
 * Memory holds only the open reply of each ticket. A decision is delivered after its commit; if the caller has left by
 * then, the run is withdrawn.
 */
export class Admission {
  /** The open replies by ticket. */
  protected readonly waiters = new Map<string, Waiter>();
  readonly #deps: AdmissionDeps;
  /** The start requests that are being decided. */
  readonly #entering = new Set<Promise<void>>();
  #isClosed = false;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** The number of requests that wait, in all orgs. */
  get waiting(): number {
    return this.waiters.size;
  }

  /**
   * Asks for a slot, and waits for it for up to `waitSeconds` (0: not at all). Refuses at once when the day's runs are used.
   * The caller has to launch or withdraw every run that it gets, a repeated one too.
   * @throws the signal's reason when the caller leaves, and what the database throws; either way there is no run.
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
      if (waiter.ticket !== undefined) this.waiters.delete(waiter.ticket);
    };
    waiter.outcome.then(done, done);
    if (signal.aborted) leave();
    const entering = this.decide(request.orgId, async (decision) => {
      if (this.#isClosed) throw serviceStopping();
      if (waiter.state === "waiting") await enter(decision, waiter);
    }).then(
      () => {
        if (this.#isClosed) waiter.leave(serviceStopping());
        // The caller may have left before the request had a ticket.
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
   * Ends a run with `end`, and grants its slot to the oldest waiter in the same commit.
   * @param end gets the time of the decision, so that no run begins before the run whose slot it takes has ended.
   * @throws what the database throws; then nothing has changed.
   */
  release<T>(orgId: string, end: (tx: Write, now: number) => Promise<T>): Promise<T> {
    return this.decide(orgId, async (decision) => {
      const ended = await end(decision.tx, decision.now);
      await grantSlots(decision, await countSlots(decision.tx, orgId, decision.now));
      return ended;
    });
  }

  /** Runs `act` under the org's lock, for changes that don't affect the org's slots. @throws as `release`. */
  change<T>(orgId: string, act: (tx: Write, now: number) => Promise<T>): Promise<T> {
    return this.decide(orgId, ({ tx, now }) => act(tx, now));
  }

  /** Decides again on all waiters: another process may have changed the limits of their orgs. */
  async review(): Promise<void> {
    const orgIds = new Set([...this.waiters.values()].map(({ request }) => request.orgId));
    for (const orgId of orgIds) await this.release(orgId, async () => {});
  }

  /** Like `enter`, but for a pipeline that is gone: brings only the run that the idempotency key has already started. */
  repeated(request: KeyedRequest): Promise<EnterOutcome | undefined> {
    return this.decide(request.orgId, (decision) => joinRepeated(decision, request));
  }

  /** The start requests that wait for a slot of the org. */
  queue(orgId: string): Promise<OrgQueue> {
    const { db, store } = this.#deps;
    return readQueue(db, store.isWaiting, orgId);
  }

  /** Turns away every later request, and all waiters. Resolves when no start is being decided any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Their rows stay, so that a request sent again to another server can keep its place.
    for (const waiter of this.waiters.values()) waiter.leave(serviceStopping());
    await Promise.all(this.#entering);
  }

  /** Decides in a transaction under the org's lock, and delivers the decisions once it is committed. */
  protected async decide<T>(orgId: string, act: (decision: Decision) => Promise<T>): Promise<T> {
    const { writer, store } = this.#deps;
    // Those of the last attempt only: the transaction may be retried.
    let deliveries: Delivery[] = [];
    let undo: (() => void)[] = [];
    try {
      const decided = await writer.write(async (tx) => {
        [deliveries, undo] = [[], []];
        const now = await store.lock(tx, orgId);
        return act({ ...this.#deps, waiters: this.waiters, tx, now, deliveries, undo });
      });
      for (const delivery of deliveries) this.deliver(delivery);
      return decided;
    } catch (error) {
      for (const takeBack of undo) takeBack();
      throw error;
    }
  }

  protected deliver(delivery: Delivery): void {
    const { waiter } = delivery;
    if ("error" in delivery) {
      waiter.leave(delivery.error);
      return;
    }
    const { outcome } = delivery;
    if (!waiter.answer(outcome) && outcome.kind !== "refused") this.#deps.runs.withdraw(outcome.run.runId);
    // The run itself gets no event yet: it may be withdrawn until its caller knows of it.
    if (outcome.kind === "started" || waiter.ticket !== undefined) {
      this.#deps.bus.emit(waiter.request.orgId, { kind: "org" });
    }
  }

  #expire(waiter: Waiter): void {
    waiter.mayWait = false;
    const { ticket } = waiter;
    if (ticket === undefined) return;
    this.decide(waiter.request.orgId, (decision) => expire(decision, waiter, ticket)).catch(
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
    const { log, bus } = this.#deps;
    this.waiters.delete(ticket);
    this.remove(ticket).then(
      () => bus.emit(request.orgId, { kind: "org" }),
      // Its row stays in the queue, and is passed over once it is the oldest.
      (error: unknown) => log("error", "a waiter who left could not be removed", { error }),
    );
  }

  /** Takes a waiter whose caller has left out of the queue. @returns whether it was still there. */
  protected remove(ticket: string): Promise<boolean> {
    return this.#deps.writer.write((tx) => removeWaiter(tx, ticket));
  }
}

function serviceStopping(): PipelineError {
  return new PipelineError("internal", "The service is stopping.", { next: "Try again in a moment." });
}
