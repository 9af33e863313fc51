import type { Clock } from "../../contract/clock.ts";

/** How often a document may change, in milliseconds. */
const shortestInterval = 100;
/** The editor reads the whole document at each change, maybe over a network: so many bytes of it a second, at most. */
const bytesPerSecond = 2_000_000;
/** How long is waited for an editor to read a change; one that doesn't show the document may not. */
const longestRead = 1_500;

/** Tells of a document's changes, once for all that come within an interval, and no faster than an editor takes them in. */
export class ThrottledChanges {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #signal: AbortSignal;
  #revision = 0;
  #isDue = false;
  #readBytes: number | undefined;
  #whenRead = Promise.withResolvers<void>();

  /** @param signal ends it: nothing is told any more. */
  constructor(clock: Clock, onChange: () => void, signal: AbortSignal) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#signal = signal;
  }

  /** How often a change was told of. */
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

  /** The editor reads the document as it is now. */
  wasRead(bytes: number): void {
    this.#readBytes = bytes;
    this.#whenRead.resolve();
  }

  /** Tells of what is new by now, and waits until an editor that reads the document has read it. */
  async shown(): Promise<void> {
    if (this.#readBytes === undefined) return;
    this.#whenRead = Promise.withResolvers<void>();
    this.notify();
    const waited = new AbortController();
    const patience = this.#clock.sleep(longestRead, AbortSignal.any([this.#signal, waited.signal]));
    await Promise.race([this.#whenRead.promise, patience.catch(() => undefined)]);
    waited.abort();
  }
}
