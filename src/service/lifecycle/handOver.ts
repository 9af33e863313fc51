import type { Leaving } from "../../contract/service.ts";
import type { Clock } from "../../machine/clock.ts";

interface HandOverDeps {
  /** Whether the service ends by itself when nobody uses it; only such a service leaves for another. */
  readonly endsByItself: boolean;
  /** Whether a run is active, a request waits, or more than `changing` requests are changing something. */
  readonly isBusy: (changing: number) => boolean;
  readonly clock: Pick<Clock, "after">;
  readonly leave: () => void;
}

const checkMilliseconds = 250;
/** The checks in a row that must find the service free after it was busy: followers of a run read its end meanwhile. */
const freeChecks = 8;

/**
 * Leaves for a newer service of this machine as soon as nothing is active. Until then runs go on, waiters get their slots,
 * and nobody is turned away.
 */
export class HandOver {
  readonly #deps: HandOverDeps;
  #isRequested = false;
  /** How many more checks must find the service free. */
  #left = 0;

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
  }

  /** Called by a request. Called again, it only says when the service leaves. */
  request(): Leaving {
    if (!this.#deps.endsByItself) return "never";
    if (this.#deps.isBusy(1)) this.#left = freeChecks;
    else this.#left ||= 1;
    if (!this.#isRequested) this.#checkLater();
    this.#isRequested = true;
    return this.#left > 1 ? "later" : "now";
  }

  #checkLater(): void {
    this.#deps.clock.after(checkMilliseconds, () => {
      if (this.#deps.isBusy(0)) this.#left = freeChecks;
      else this.#left -= 1;
      if (this.#left <= 0) this.#deps.leave();
      else this.#checkLater();
    });
  }
}
