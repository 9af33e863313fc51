import { anySignal } from "../../machine/anySignal.ts";
import type { Clock } from "../../machine/clock.ts";

/** In milliseconds: the least time between two changes. */
const shortestInterval = 100;
/** The editor reads the whole document at each change, maybe over a network. */
const bytesPerSecond = 2_000_000;
/** In milliseconds: how long to wait for an editor, which may not show the document, to read a change. */
const longestRead = 1_500;

/** Reports a document's changes, once an interval, and no faster than the editor reads them. */
export class ThrottledChanges {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #signal: AbortSignal;
  #revision = 0;
  #isDue = false;
  #readBytes: number | undefined;
  #whenRead = Promise.withResolvers<void>();

  /** @param signal ends the reports. */
  constructor(clock: Clock, onChange: () => void, signal: AbortSignal) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#signal = signal;
  }

  /** The number of reported changes. */
  get revision(): number {
    return this.#revision;
  }

  notify(): void {
    if (this.#isDue || this.#signal.aborted) return;
    this.#isDue = true;
    const pause = Math.max(shortestInterval, ((this.#readBytes ?? 0) / bytesPerSecond) * 1000);
    void this.#clock
      .sleep(pause, this.#signal)
      .then(() => {
        this.#isDue = false;
        this.#revision += 1;
        this.#onChange();
      })
      .catch(() => undefined);
  }

  wasRead(bytes: number): void {
    this.#readBytes = bytes;
    this.#whenRead.resolve();
  }

  /** Reports the changes so far, and waits until the editor has read them. */
  async shown(): Promise<void> {
    if (this.#readBytes === undefined) return;
    this.#whenRead = Promise.withResolvers<void>();
    this.notify();
    const waited = new AbortController();
    const patience = this.#clock.sleep(longestRead, anySignal([this.#signal, waited.signal]));
    await Promise.race([this.#whenRead.promise, patience.catch(() => undefined)]);
    waited.abort();
  }
}
