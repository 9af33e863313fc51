import { Observed } from "./observed.ts";

/** One start that stands in line for a place. */
export interface Wait {
  readonly pipeline: string;
  readonly secondsLeft: number;
}

/** The waits of this window, the oldest first, for the status bar. */
export class Waits {
  readonly current = new Observed<readonly Wait[]>([]);
  readonly #waits = new Map<symbol, Wait>();

  /** A place in the list for one start; it is shown from the first `tell` until `end`. */
  begin(pipeline: string): { tell(secondsLeft: number): void; end(): void } {
    const id = Symbol(pipeline);
    return {
      tell: (secondsLeft) => {
        this.#waits.set(id, { pipeline, secondsLeft });
        this.current.set([...this.#waits.values()]);
      },
      end: () => {
        if (this.#waits.delete(id)) this.current.set([...this.#waits.values()]);
      },
    };
  }
}
