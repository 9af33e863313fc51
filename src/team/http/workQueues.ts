import { Bell, type Clock } from "../../machine/clock.ts";

/**
 * The requests for work that a server holds while there is none. New work wakes one of them, not all: hundreds that query at
 * once would keep the database from everything else.
 */
export class WorkQueues {
  readonly #clock: Pick<Clock, "after" | "monotonic">;
  /** By the org whose work they take; undefined for every org's. */
  readonly #queues = new Map<string | undefined, WorkQueue>();

  constructor(clock: Pick<Clock, "after" | "monotonic">) {
    this.#clock = clock;
  }

  ring(orgId: string): void {
    for (const org of [orgId, undefined]) this.#queues.get(org)?.ring();
  }

  /** Called when there may be new work of any org. */
  ringAll(): void {
    for (const queue of this.#queues.values()) queue.ringAll();
  }

  /**
   * Takes work: at once, or after each ring that reaches this request.
   * @param take asks the database; undefined when there is nothing.
   * @returns undefined when the time is over before there is work.
   */
  take<T>(
    orgId: string | undefined,
    take: () => Promise<T | undefined>,
    milliseconds: number,
    ended: AbortSignal,
  ): Promise<T | undefined> {
    const queue = this.#queues.get(orgId) ?? new WorkQueue();
    this.#queues.set(orgId, queue);
    return queue.take(take, this.#clock, milliseconds, ended);
  }
}

/** Requests for the same work. After a ring, they ask the database one after the other, until one of them finds nothing. */
class WorkQueue {
  readonly #waiting = new Set<Bell>();
  /** How many rings there were, and how many are answered: a request that finds nothing answers all that came before it. */
  #rung = 0;
  #answered = 0;
  #isAsking = false;

  ring(times = 1): void {
    this.#rung += times;
    this.#next();
  }

  ringAll(): void {
    this.ring(this.#waiting.size);
  }

  async take<T>(
    take: () => Promise<T | undefined>,
    clock: Pick<Clock, "after" | "monotonic">,
    milliseconds: number,
    ended: AbortSignal,
  ): Promise<T | undefined> {
    const until = clock.monotonic() + milliseconds;
    const bell = new Bell();
    let isAsking = false;
    const stopAsking = () => {
      if (isAsking) this.#isAsking = false;
      isAsking = false;
      this.#next();
    };
    try {
      for (;;) {
        const taken = await this.#ask(take);
        const left = until - clock.monotonic();
        // A caller that has left takes nothing more: the work would be lost.
        if (taken !== undefined || ended.aborted || left <= 0) return taken;
        this.#waiting.add(bell);
        stopAsking();
        await bell.wait(clock, left, ended);
        // True also if the ring came just as the time ran out.
        isAsking = !this.#waiting.delete(bell);
        if (ended.aborted || !isAsking) return undefined;
      }
    } finally {
      stopAsking();
    }
  }

  async #ask<T>(take: () => Promise<T | undefined>): Promise<T | undefined> {
    const rung = this.#rung;
    let taken: T | undefined;
    try {
      taken = await take();
    } finally {
      // Taking a run answers no ring: there may be more work, and a run that is given again has not rung.
      if (taken === undefined) this.#answered = Math.max(this.#answered, rung);
    }
    return taken;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (this.#isAsking || this.#answered >= this.#rung || first === undefined) return;
    this.#isAsking = true;
    this.#waiting.delete(first);
    first.ring();
  }
}
