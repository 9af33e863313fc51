import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../contract/clock.ts";

/** The editor ends its extensions after 5 s, whatever they still do; in milliseconds. */
const longest = 4000;

/**
 * What must not be cut off when the window closes or is reloaded: a start that is given up, whose run may have to be
 * cancelled, and a task whose run is being cancelled.
 */
export class Endings {
  readonly #held = new Set<Promise<unknown>>();

  get areOver(): boolean {
    return this.#held.size === 0;
  }

  /** Has the window's end wait for a piece of work, which ends soon once the extension's signal aborts. */
  hold<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#held.add(settled);
    void settled.then(() => this.#held.delete(settled));
    return work;
  }

  /** Resolves when all of it is over, and after 4 s at the latest. */
  async over(clock: Clock): Promise<void> {
    const enough = new AbortController();
    const patience = clock.sleep(longest, enough.signal).catch(() => undefined);
    await Promise.race([patience, this.#settled()]);
    enough.abort();
  }

  /** What ends may begin another piece, such as the cancelling of the run that was found. */
  async #settled(): Promise<void> {
    do {
      await Promise.all(this.#held);
      await turn();
    } while (this.#held.size > 0);
  }
}
