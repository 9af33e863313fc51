import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../machine/clock.ts";

/** In milliseconds. The editor ends its extensions after 5 s, even if they are still working. */
const timeout = 4000;

/**
 * Work that the window's end waits for: a start that is given up, whose run may have to be cancelled, and a task whose run is
 * being cancelled.
 */
export class Shutdown {
  readonly #pending = new Set<Promise<unknown>>();

  get isDone(): boolean {
    return this.#pending.size === 0;
  }

  /** Makes the window's end wait for this work, which settles soon after the extension's signal aborts. */
  join<T>(work: Promise<T>): Promise<T> {
    const settled = work.catch(() => undefined);
    this.#pending.add(settled);
    void settled.then(() => this.#pending.delete(settled));
    return work;
  }

  /** Resolves when all work has settled, but after 4 s at the latest. */
  async finish(clock: Clock): Promise<void> {
    const stop = new AbortController();
    const timer = clock.sleep(timeout, stop.signal).catch(() => undefined);
    await Promise.race([timer, this.#settled()]);
    stop.abort();
  }

  /** Waits in rounds: work that settles may join more, such as the cancelling of a run that was found. */
  async #settled(): Promise<void> {
    do {
      await Promise.all(this.#pending);
      await nextTurn();
    } while (this.#pending.size > 0);
  }
}
