import type { Clock } from "../../machine/clock.ts";

/** Thrown for a decision that wasn't begun, since earlier ones of its org take too long. */
export class OrgBusyError extends Error {}

/** How long a decision waits for those of its org before it, in milliseconds. */
const waitMilliseconds = 5_000;

/**
 * Lets the decisions of an org take turns before they take a connection. Otherwise many requests of one org would hold all
 * connections only to wait for the org's lock.
 */
export class OrgTurns {
  readonly #clock: Pick<Clock, "after">;
  /** Each org's last decision, which resolves when it is over. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Calls `act` after the org's earlier decisions. @throws OrgBusyError when they take too long. */
  async take<T>(orgId: string, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(orgId);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#last.set(orgId, over);
    void over.then(() => this.#last.get(orgId) === over && this.#last.delete(orgId));
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const cancelTimer = this.#clock.after(waitMilliseconds, () =>
      reject(new OrgBusyError("other requests of the org take too long")),
    );
    try {
      await Promise.race([before, tooLong]).finally(cancelTimer);
      return await act();
    } finally {
      // After one that gives up, the next still waits for those before it.
      if (before === undefined) resolve();
      else void before.then(resolve);
    }
  }
}
