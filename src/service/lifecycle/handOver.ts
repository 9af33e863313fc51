import type { Clock } from "../../contract/clock.ts";
import type { Leaving } from "../../contract/service.ts";

interface HandOverDeps {
  /** Whether the service ends by itself when nobody uses it; only such a one leaves for another. */
  readonly endsByItself: boolean;
  /** Whether a run is in work, someone waits for a place, or more requests than these are just changing something. */
  readonly isBusy: (changing: number) => boolean;
  readonly clock: Pick<Clock, "after">;
  readonly leave: () => void;
}

/** How often it is looked whether the service may leave, in milliseconds. */
const lookEvery = 250;
/** How many looks in a row must find it free after it was busy: who followed a run reads its end meanwhile. */
const calmLooks = 8;

/**
 * Leaves for a newer service of this machine as soon as nothing is in work: the runs go to their ends, whoever waits
 * gets the place, and nobody is turned away until then.
 */
export class HandOver {
  readonly #deps: HandOverDeps;
  #isAsked = false;
  /** How many more looks must find the service free. */
  #left = 0;

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
  }

  /** By a request. Asked again, it only tells how it stands. */
  ask(): Leaving {
    if (!this.#deps.endsByItself) return "never";
    if (this.#deps.isBusy(1)) this.#left = calmLooks;
    else this.#left ||= 1;
    if (!this.#isAsked) this.#lookLater();
    this.#isAsked = true;
    return this.#left > 1 ? "later" : "now";
  }

  #lookLater(): void {
    this.#deps.clock.after(lookEvery, () => {
      if (this.#deps.isBusy(0)) this.#left = calmLooks;
      else this.#left -= 1;
      if (this.#left <= 0) this.#deps.leave();
      else this.#lookLater();
    });
  }
}
