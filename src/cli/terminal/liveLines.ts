import { type Clock, repeat } from "../../machine/clock.ts";
import { cut, marksOf, type Stream, type Terminal } from "./terminal.ts";

/** The current text of a live line; an empty text hides it. @param spinner the current frame. */
export type LiveLine = (spinner: string) => string;

export interface LiveOutput {
  readonly err: Terminal;
  note(line: string): void;
  passing(...lines: readonly string[]): void;
  release(): void;
}

const redrawMilliseconds = 100;

export type LiveLines = ReturnType<typeof liveLines>;

/**
 * Lines that are redrawn while something is in progress: seconds, a spinner. Each belongs to an owner, which sets and removes it.
 * Draws nothing unless standard error is a live terminal.
 */
export function liveLines(output: LiveOutput, clock: Clock) {
  const lines = new Map<object, LiveLine>();
  let drawing: ReturnType<typeof repeat> | undefined;
  const draw = (): void => {
    if (lines.size === 0) return;
    const { spinner } = marksOf(output.err);
    const frame = spinner[Math.floor(clock.monotonic() / redrawMilliseconds) % spinner.length];
    const texts = [...lines.values()].map((line) => line(frame ?? ""));
    output.passing(...texts.filter((text) => text !== ""));
  };
  const end = (): void => {
    lines.clear();
    void drawing?.stop();
    drawing = undefined;
    output.release();
  };
  return {
    set(owner: object, line: LiveLine): void {
      if (!output.err.isLive) return;
      lines.set(owner, line);
      drawing?.soon();
      drawing ??= repeat(clock, redrawMilliseconds, async () => draw());
    },
    remove(owner: object): void {
      if (lines.delete(owner) && lines.size === 0) end();
    },
    /** Prints a permanent line above the live ones. */
    note(line: string): void {
      output.note(line);
      draw();
    },
    [Symbol.dispose]: end,
  };
}

/** Redrawn lines at the bottom of a terminal. The cursor is hidden from the first `draw` until `release`. */
export function liveRegion(stream: Stream, terminal: Terminal) {
  let widths: readonly number[] = [];
  let isHidden = false;
  /** Moves to the start of the first drawn line. If the terminal was made narrower since, the lines have wrapped. */
  const toTop = (): string => {
    const rows = widths.map((width) => Math.max(1, Math.ceil(width / terminal.columns)));
    const up = rows.reduce((sum, row) => sum + row, 0) - 1;
    return up > 0 ? `\u001b[${up}A\r` : "\r";
  };
  const fitting = (lines: readonly string[]): readonly string[] => {
    const most = Math.max(1, terminal.rows - 1);
    if (lines.length <= most) return lines;
    const shown = lines.slice(0, most - 1);
    return [...shown, `  and ${lines.length - shown.length} more`];
  };
  /** Erases the lines, so that permanent ones can be written in their place. */
  const clear = (): void => {
    if (widths.length > 0) stream.write(`${toTop()}\u001b[J`);
    widths = [];
  };
  return {
    clear,
    /** Replaces the drawn lines, cut to the width and height of the terminal. */
    draw(lines: readonly string[]): void {
      if (lines.length === 0) {
        clear();
        return;
      }
      // The last column stays free, since some terminals wrap as soon as it is written to.
      const columns = Math.max(1, terminal.columns - 1);
      const shown = fitting(lines).map((line) => cut(line, columns, marksOf(terminal).ellipsis));
      const hide = isHidden ? "" : "\u001b[?25l";
      const text = shown.map(({ text }) => text).join("\u001b[K\n");
      stream.write(`${hide}${toTop()}${text}\u001b[J`);
      isHidden = true;
      widths = shown.map(({ width }) => width);
    },
    release(): void {
      clear();
      if (isHidden) stream.write("\u001b[?25h");
      isHidden = false;
    },
  };
}
