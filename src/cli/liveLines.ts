import type { Clock } from "../client/clock.ts";
import { marksOf } from "./marks.ts";
import type { Output } from "./output.ts";

/** What stands on a live line now; nothing for an empty text. @param spinner the picture of this moment. */
export type LiveLine = (spinner: string) => string;

const drawnEveryMilliseconds = 100;

/**
 * Lines that change by themselves while something goes on: seconds, a spinner. Each has an owner, who sets and removes
 * it. Where standard error isn't a live terminal there are none.
 */
export class LiveLines implements Disposable {
  readonly #output: Output;
  readonly #clock: Clock;
  readonly #lines = new Map<object, LiveLine>();
  #drawing = new AbortController();

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  set(owner: object, line: LiveLine): void {
    if (!this.#output.err.isLive) return;
    this.#lines.set(owner, line);
    if (this.#lines.size > 1) return;
    this.#drawing.abort();
    this.#drawing = new AbortController();
    void this.#keepDrawing(this.#drawing.signal);
  }

  remove(owner: object): void {
    if (!this.#lines.delete(owner)) return;
    if (this.#lines.size === 0) this[Symbol.dispose]();
  }

  /** A line that stays, above those that change. */
  note(line: string): void {
    this.#output.note(line);
    this.#draw();
  }

  [Symbol.dispose](): void {
    this.#lines.clear();
    this.#drawing.abort();
    this.#output.release();
  }

  async #keepDrawing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#draw();
      await this.#clock.sleep(drawnEveryMilliseconds, signal).catch(() => undefined);
    }
  }

  #draw(): void {
    if (this.#lines.size === 0) return;
    const { spinner } = marksOf(this.#output.err);
    const picture = spinner[Math.floor(this.#clock.monotonic() / drawnEveryMilliseconds) % spinner.length];
    const lines = [...this.#lines.values()].map((line) => line(picture ?? ""));
    this.#output.passing(...lines.filter((line) => line !== ""));
  }
}
