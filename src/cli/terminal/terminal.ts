import { styleText } from "node:util";
import truncatedWidth from "fast-string-truncated-width";
import { type Clock, repeat } from "../../machine/clock.ts";
import type { Environment } from "../../project/environment.ts";

/** The part of an output stream that the tool uses. */
export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether the buffer is full, until a `drain` event. */
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", listener: () => void): unknown;
}

export interface TerminalFlags {
  /** False for `--no-color`. */
  readonly color: boolean;
  readonly quiet: boolean;
}

/** What an output stream supports. */
export interface Terminal {
  readonly style: ReturnType<typeof styleOf>;
  /** Whether colours may be written, including those in a log. */
  readonly hasColor: boolean;
  /** False for a file or a pipe. */
  readonly isTerminal: boolean;
  /** Whether lines may be redrawn, for a spinner or seconds; otherwise output is only appended. */
  readonly isLive: boolean;
  /** Whether characters beyond ASCII are displayed correctly. */
  readonly hasUnicode: boolean;
  readonly columns: number;
  readonly rows: number;
}

/**
 * Colours need a terminal that isn't dumb. `--no-color` and a non-empty `NO_COLOR` turn them off; `FORCE_COLOR` turns them
 * on without a terminal, as in a CI log. Lines are redrawn only on a terminal that isn't dumb, not in CI or with `--quiet`.
 */
export function terminalOf(
  stream: Stream,
  env: Environment,
  flags: TerminalFlags,
  platform: NodeJS.Platform = process.platform,
): Terminal {
  const isDumb = env["TERM"] === "dumb";
  const isTerminal = stream.isTTY === true && !isDumb;
  const isForced = isSet(env, "FORCE_COLOR") && env["FORCE_COLOR"] !== "0";
  const isDeclined = !flags.color || isSet(env, "NO_COLOR") || env["FORCE_COLOR"] === "0";
  const hasColor = !isDeclined && (isTerminal || isForced);
  return {
    style: styleOf(hasColor),
    hasColor,
    isTerminal: stream.isTTY === true,
    isLive: isTerminal && !isSet(env, "CI") && !flags.quiet,
    hasUnicode: hasUnicode(env, platform),
    // Read at each use, since a terminal may be resized. Some pseudo-terminals report 0.
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

/** On Windows true only if a terminal sets its own variable, since the old console shows boxes; elsewhere by the locale. */
function hasUnicode(env: Environment, platform: NodeJS.Platform): boolean {
  if (platform === "win32") {
    return ["WT_SESSION", "TERM_PROGRAM", "ConEmuTask", "CI"].some((name) => isSet(env, name));
  }
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return env["TERM"] !== "linux" && !/^(C|POSIX)$/.test(locale);
}

type Paint = (text: string) => string;

/** Styles by meaning, in the terminal's 16 colours, which people configure. */
export function styleOf(hasColor: boolean) {
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      hasColor && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    caution: paint("yellow"),
  } as const;
}

/** The columns that a text occupies: none for SGR sequences, two for wide characters. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

const esc = "\u001b";
const sgr = new RegExp(`(${esc}\\[[\\d;]*m)`);

/**
 * Cuts a line to the columns, with an ellipsis. The library's own cut is one column too long after some characters, such as the
 * spinner's, so only its widths are used.
 */
export function cut(
  line: string,
  columns: number,
  ellipsis: string,
): { readonly text: string; readonly width: number } {
  const whole = widthOf(line);
  if (whole <= columns) return { text: line, width: whole };
  const available = columns - ellipsis.length;
  if (available < 0) return { text: "", width: 0 };
  let text = "";
  let width = 0;
  for (const piece of line.split(sgr).flatMap((part) => (sgr.test(part) ? [part] : graphemesOf(part)))) {
    const wider = width + widthOf(piece);
    if (wider > available) break;
    text += piece;
    width = wider;
  }
  const end = text.includes(esc) ? `${esc}[0m` : "";
  return { text: `${text}${end}${ellipsis}`, width: width + ellipsis.length };
}

export function graphemesOf(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/** Whether a variable is set; an empty one counts as unset, as everywhere in this tool. */
export function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? "") !== "";
}

/** The symbols in the tool's lines. */
const unicodeMarks = {
  /** Separates two facts on a line. */
  between: "·",
  ellipsis: "…",
  /** The frames. */
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const asciiMarks: typeof unicodeMarks = {
  between: "-",
  ellipsis: "...",
  spinner: ["|", "/", "-", "\\"],
};

export function marksOf({ hasUnicode }: Pick<Terminal, "hasUnicode">) {
  return hasUnicode ? unicodeMarks : asciiMarks;
}

type StatusLook = ReturnType<typeof statusLook>;

/**
 * How a status is displayed: with a mark and a colour, so that colour alone never carries information. An unknown status is
 * displayed unchanged (contract: "Endpoints").
 */
export function statusLook(status: string, { style, hasUnicode }: Pick<Terminal, "style" | "hasUnicode">) {
  const mark = (unicode: string, ascii: string) => (hasUnicode ? unicode : ascii);
  switch (status) {
    case "running":
    case "cancelling":
      return { mark: mark("●", "*"), paint: style.caution };
    case "succeeded":
      return { mark: mark("✓", "+"), paint: style.good };
    case "failed":
    case "timed-out":
    case "lost":
      return { mark: mark("✗", "x"), paint: style.bad };
    case "cancelled":
      return { mark: mark("−", "-"), paint: style.dim };
    default:
      return { mark: mark("·", "."), paint: style.dim };
  }
}

/** The look of a step. A step that was stopped by the run's end looks like that end. */
export function stepLook(
  step: { readonly status: string },
  run: { readonly status: string },
  terminal: Pick<Terminal, "style" | "hasUnicode">,
): StatusLook {
  if (step.status !== "stopped") return statusLook(step.status, terminal);
  const isCancelled = run.status === "cancelling" || run.status === "cancelled";
  return statusLook(isCancelled ? "cancelled" : "failed", terminal);
}

export function statusText(status: string, terminal: Pick<Terminal, "style" | "hasUnicode">): string {
  const { mark, paint } = statusLook(status, terminal);
  return paint(`${mark} ${status}`);
}

interface TableLayout {
  /** The maximum width of a line; unlimited by default. */
  readonly columns?: number;
  /** The indexes of the columns that are cut, one after the other, if the lines are too wide. */
  readonly cut?: readonly number[];
  readonly ellipsis?: string;
}

/** The minimum width of a cut column. */
const leastWidth = 8;
const gap = 2;

/** Aligned columns on a terminal, otherwise tab-separated fields, since a name may contain spaces. */
export function rowsFor(
  { isTerminal }: Pick<Terminal, "isTerminal">,
  rows: readonly (readonly string[])[],
): string {
  return isTerminal ? table(rows) : rows.map((cells) => cells.join("\t")).join("\n");
}

/** Aligned columns. SGR sequences have no width, wide characters two. */
export function table(rows: readonly (readonly string[])[], layout: TableLayout = {}): string {
  const { columns = Number.POSITIVE_INFINITY, cut = [], ellipsis = "…" } = layout;
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => widthOf(cells[column] ?? ""))),
  );
  for (const column of cut) {
    const whole = widths.reduce((sum, width) => sum + width + gap, -gap);
    const widest = widths[column] ?? 0;
    if (whole > columns) widths[column] = Math.min(widest, Math.max(leastWidth, widest - (whole - columns)));
  }
  return rows
    .map((cells) => cells.map((cell, column) => fitted(cell, widths[column] ?? 0, ellipsis)))
    .map((cells) => cells.join(" ".repeat(gap)).trimEnd())
    .join("\n");
}

/** Pads or cuts a text to exactly this width. */
function fitted(text: string, columns: number, ellipsis: string): string {
  const shown = cut(text, columns, ellipsis);
  return shown.text + " ".repeat(columns - shown.width);
}

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
