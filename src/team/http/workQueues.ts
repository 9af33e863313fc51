import { Bell } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";

/**
 * The runners that a server holds while there is no work for them. Work that comes up rings for one of them, not for all:
 * hundreds that ask the database at once would keep it from everything else.
 */
export class WorkQueues {
  readonly #clock: Pick<Clock, "after" | "monotonic">;
  /** By the org whose work they take; undefined for every org's. */
  readonly #queues = new Map<string | undefined, WorkQueue>();

  constructor(clock: Pick<Clock, "after" | "monotonic">) {
    this.#clock = clock;
  }

  /** There is work of an org. */
  ring(orgId: string): void {
    for (const org of [orgId, undefined]) this.#queues.get(org)?.ring();
  }

  /** There may be any work. */
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

/** The requests for the same work, which ask one after the other after a ring, until one finds nothing. */
class WorkQueue {
  readonly #waiting = new Set<Bell>();
  /** How many rings there were, and how many of them are answered. Who finds nothing has answered all that came before. */
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
        // Work that is taken for a caller that has left would only be lost.
        if (taken !== undefined || ended.aborted || left <= 0) return taken;
        this.#waiting.add(bell);
        stopAsking();
        await bell.wait(clock, left, ended);
        // Also where the ring came in the moment that the time was over.
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
      // Who has got something may have left more, and not every run that is given has rung.
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
