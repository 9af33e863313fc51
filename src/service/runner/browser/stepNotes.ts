import type { Mask } from "../mask.ts";
import type { StepLog } from "../stepOutcome.ts";
import { shorten } from "./shorten.ts";

const mostNotes = 50;
const longestWords = 500;

/** What a page does by itself, noted in a step's log, as far as a person can want to read it. */
export class StepNotes {
  readonly #log: StepLog;
  readonly #mask: Mask;
  #count = 0;

  constructor(log: StepLog, mask: Mask) {
    this.#log = log;
    this.#mask = mask;
  }

  /** @param words the page's own. */
  add(what: string, words = ""): void {
    this.#count += 1;
    if (this.#count > mostNotes) return;
    const said = shorten(this.#mask.hide(words), longestWords);
    this.#log.note(said === "" ? what : `${what} ${said}`);
    if (this.#count === mostNotes) this.#log.note("what else the page says in this step is left out");
  }
}
