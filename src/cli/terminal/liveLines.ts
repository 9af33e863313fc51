import type { Clock } from "../../contract/clock.ts";
import { marksOf } from "./marks.ts";
import type { Stream, Terminal } from "./terminal.ts";
import { widthOf } from "./terminal.ts";

/** What stands on a live line now; nothing for an empty text. @param spinner the picture of this moment. */
export type LiveLine = (spinner: string) => string;

/** What live lines are drawn on. */
export interface LiveOutput {
  readonly err: Terminal;
  note(line: string): void;
  passing(...lines: readonly string[]): void;
  release(): void;
}

const drawnEveryMilliseconds = 100;

/**
 * Lines that change by themselves while something goes on: seconds, a spinner. Each has an owner, who sets and removes
 * it. Where standard error isn't a live terminal there are none.
 */
export class LiveLines implements Disposable {
  readonly #output: LiveOutput;
  readonly #clock: Clock;
  readonly #lines = new Map<object, LiveLine>();
  #drawing = new AbortController();

  constructor(output: LiveOutput, clock: Clock) {
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

/** Lines at the foot of a terminal that are drawn over. The cursor is hidden from the first drawing until `release`. */
export class LiveRegion {
  readonly #stream: Stream;
  readonly #terminal: Terminal;
  /** How wide each line is that stands there now. */
  #widths: readonly number[] = [];
  #isHidden = false;

  constructor(stream: Stream, terminal: Terminal) {
    this.#stream = stream;
    this.#terminal = terminal;
  }

  /** Puts these lines in the place of those that were drawn last. None of them wraps, and none is more than fits. */
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

  /** Takes the lines away, so that others can be written where they stood. */
  clear(): void {
    if (this.#widths.length > 0) this.#stream.write(`${this.#toTop()}\u001b[J`);
    this.#widths = [];
  }

  /** Takes the lines away, and shows the cursor again. */
  release(): void {
    this.clear();
    if (this.#isHidden) this.#stream.write("\u001b[?25h");
    this.#isHidden = false;
  }

  /** To the beginning of the first line that was drawn; a terminal made narrower since has wrapped them. */
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

  /** The last column stays free: some terminals wrap as soon as it is written to. */
  #cut(line: string): Cut {
    return cut(line, Math.max(1, this.#terminal.columns - 1), marksOf(this.#terminal).ellipsis);
  }
}

interface Cut {
  readonly text: string;
  /** How many columns it takes. */
  readonly width: number;
}

const esc = "\u001b";
/** A colour, or a character with the marks that it carries. Made when a line is cut: few are, and it takes long to make. */
const pieces = () => new RegExp(`${esc}\\[[\\d;]*m|\\P{M}\\p{M}*|\\p{M}+`, "gu");

/**
 * The line as far as the columns reach, with an ellipsis where that is not all. The library's own cut is one too long
 * behind some characters, as the spinner's, so only its widths are used.
 */
function cut(line: string, columns: number, ellipsis: string): Cut {
  const whole = widthOf(line);
  if (whole <= columns) return { text: line, width: whole };
  const room = columns - ellipsis.length;
  let text = "";
  let width = 0;
  for (const [piece] of line.matchAll(pieces())) {
    const wider = width + widthOf(piece);
    if (wider > room) break;
    text += piece;
    width = wider;
  }
  const end = text.includes("\u001b") ? "\u001b[0m" : "";
  return { text: `${text}${end}${room < 0 ? "" : ellipsis}`, width: columns };
}
