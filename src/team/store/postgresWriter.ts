import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../machine/clock.ts";
import type { Database, Write } from "../../service/store/tables.ts";
import { OrgBusyError, type Writer } from "../../service/store/writer.ts";

/** How often a transaction is begun again that PostgreSQL has ended for another's sake. */
const mostAttempts = 5;
/** How long a write waits for those of its org before it, in milliseconds. */
const waitMilliseconds = 5_000;

/**
 * The writes on PostgreSQL: each is a transaction of its own, and many go on at once. Those that lock an org's row go
 * one after the other before they take a connection, so that many requests of one org leave connections to the others.
 */
export class PostgresWriter implements Writer {
  readonly #db: Database;
  readonly #clock: Pick<Clock, "after">;
  readonly #underWay = new Set<Promise<unknown>>();
  /** Each org's last write, which resolves when it is over. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(db: Database, clock: Pick<Clock, "after">) {
    this.#db = db;
    this.#clock = clock;
  }

  /** @throws also OrgBusyError. */
  async write<T>(act: (tx: Write) => Promise<T>, orgId?: string): Promise<T> {
    const writing =
      orgId === undefined ? this.#write(act) : this.#afterEarlier(orgId, () => this.#write(act));
    this.#underWay.add(writing);
    try {
      return await writing;
    } finally {
      this.#underWay.delete(writing);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #afterEarlier<T>(orgId: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(orgId);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#last.set(orgId, over);
    void over.then(() => this.#last.get(orgId) === over && this.#last.delete(orgId));
    try {
      if (before !== undefined) await this.#within(waitMilliseconds, before);
      return await act();
    } finally {
      // Whoever gives up keeps its place before those behind it.
      if (before === undefined) resolve();
      else void before.then(resolve);
    }
  }

  /** @throws OrgBusyError when it takes longer. */
  async #within(milliseconds: number, waiting: Promise<void>): Promise<void> {
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const cancelTimer = this.#clock.after(milliseconds, () =>
      reject(new OrgBusyError("other requests of the org take too long")),
    );
    try {
      await Promise.race([waiting, timeout]);
    } finally {
      cancelTimer();
    }
  }

  async #write<T>(act: (tx: Write) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#db.transaction().execute(act);
      } catch (error) {
        if (!isRetried(error) || attempt === mostAttempts) throw error;
        await pause(Math.random() * 20 * attempt);
      }
    }
  }
}

/** A deadlock, or a serialization failure: nothing was written, and the next attempt may succeed. */
function isRetried(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "40P01" || error.code === "40001");
}
