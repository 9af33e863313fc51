import { repeat } from "../../machine/bell.ts";
import type { Clock } from "../../machine/clock.ts";
import { cut, marksOf, type Stream, type Terminal } from "./terminal.ts";

/** The text of a live line now; an empty text hides it. @param spinner the current frame. */
export type LiveLine = (spinner: string) => string;

export interface LiveOutput {
  readonly err: Terminal;
  note(line: string): void;
  passing(...lines: readonly string[]): void;
  release(): void;
}

const redrawMilliseconds = 100;

/**
 * Lines that are redrawn while something is in progress: seconds, a spinner. Each belongs to an owner, which sets and
 * removes it. Nothing is drawn where standard error isn't a live terminal.
 */
export class LiveLines implements Disposable {
  readonly #output: LiveOutput;
  readonly #clock: Clock;
  readonly #lines = new Map<object, LiveLine>();
  #drawing: ReturnType<typeof repeat> | undefined;

  constructor(output: LiveOutput, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  set(owner: object, line: LiveLine): void {
    if (!this.#output.err.isLive) return;
    this.#lines.set(owner, line);
    this.#drawing?.soon();
    this.#drawing ??= repeat(this.#clock, redrawMilliseconds, async () => this.#draw());
  }

  remove(owner: object): void {
    if (!this.#lines.delete(owner)) return;
    if (this.#lines.size === 0) this[Symbol.dispose]();
  }

  /** Prints a permanent line above the live ones. */
  note(line: string): void {
    this.#output.note(line);
    this.#draw();
  }

  [Symbol.dispose](): void {
    this.#lines.clear();
    void this.#drawing?.stop();
    this.#drawing = undefined;
    this.#output.release();
  }

  #draw(): void {
    if (this.#lines.size === 0) return;
    const { spinner } = marksOf(this.#output.err);
    const frame = spinner[Math.floor(this.#clock.monotonic() / redrawMilliseconds) % spinner.length];
    const lines = [...this.#lines.values()].map((line) => line(frame ?? ""));
    this.#output.passing(...lines.filter((line) => line !== ""));
  }
}

/** Lines at the bottom of a terminal that are redrawn. The cursor is hidden from the first `draw` until `release`. */
export class LiveRegion {
  readonly #stream: Stream;
  readonly #terminal: Terminal;
  /** The width of each drawn line. */
  #widths: readonly number[] = [];
  #isHidden = false;

  constructor(stream: Stream, terminal: Terminal) {
    this.#stream = stream;
    this.#terminal = terminal;
  }

  /** Replaces the drawn lines, cut to the width and height of the terminal. */
  draw(lines: readonly string[]): void {
    if (lines.length === 0) {
      this.clear();
      return;
    }
    const shown = this.#fitting(lines).map((line) => this.#cut(line));
    const hide = this.#isHidden ? "" : "\u001b[?25l";
    const text = shown.map(({ text }) => text).join("\u001b[K\n");
    this.#stream.write(`${hide}${this.#toTop()}${text}\u001b[J`);
    this.#isHidden = true;
    this.#widths = shown.map(({ width }) => width);
  }

  /** Erases the lines, so that permanent ones can be written in their place. */
  clear(): void {
    if (this.#widths.length > 0) this.#stream.write(`${this.#toTop()}\u001b[J`);
    this.#widths = [];
  }

  /** Erases the lines and shows the cursor. */
  release(): void {
    this.clear();
    if (this.#isHidden) this.#stream.write("\u001b[?25h");
    this.#isHidden = false;
  }

  /** Moves to the start of the first drawn line. A terminal that was made narrower since has wrapped them. */
  #toTop(): string {
    const rows = this.#widths.map((width) => Math.max(1, Math.ceil(width / this.#terminal.columns)));
    const up = rows.reduce((sum, row) => sum + row, 0) - 1;
    return up > 0 ? `\u001b[${up}A\r` : "\r";
  }

  #fitting(lines: readonly string[]): readonly string[] {
    const most = Math.max(1, this.#terminal.rows - 1);
    if (lines.length <= most) return lines;
    const shown = lines.slice(0, most - 1);
    return [...shown, `  and ${lines.length - shown.length} more`];
  }

  /** Leaves the last column free: some terminals wrap as soon as it is written to. */
  #cut(line: string): ReturnType<typeof cut> {
    return cut(line, Math.max(1, this.#terminal.columns - 1), marksOf(this.#terminal).ellipsis);
  }
}
