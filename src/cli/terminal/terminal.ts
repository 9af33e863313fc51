import { styleText } from "node:util";
import truncatedWidth from "fast-string-truncated-width";
import type { Environment } from "../../project/environment.ts";

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

const unicodeMarks = {
  between: "·",
  ellipsis: "…",
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

function fitted(text: string, columns: number, ellipsis: string): string {
  const shown = cut(text, columns, ellipsis);
  return shown.text + " ".repeat(columns - shown.width);
}
