import { styleText } from "node:util";
import truncatedWidth from "fast-string-truncated-width";
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
  /** Whether lines may be redrawn, for a spinner or seconds. Otherwise output is only appended. */
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
    // Read at each use, since a terminal may be resized; some pseudo-terminals report 0.
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

/** On Windows only terminals that set a variable of their own: the old console shows boxes. Elsewhere by the locale. */
function hasUnicode(env: Environment, platform: NodeJS.Platform): boolean {
  if (platform === "win32") {
    return (
      isSet(env, "WT_SESSION") || isSet(env, "TERM_PROGRAM") || isSet(env, "ConEmuTask") || isSet(env, "CI")
    );
  }
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return env["TERM"] !== "linux" && !/^(C|POSIX)$/.test(locale);
}

type Paint = (text: string) => string;

/** Styles by meaning, in the terminal's 16 colours, whose values people configure. */
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

/** The columns that a text takes: SGR sequences none, wide characters two. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

const esc = "\u001b";
const sgr = new RegExp(`(${esc}\\[[\\d;]*m)`);

/**
 * Cuts a line to the columns, with an ellipsis. The library's own cut is one column too long after some characters, such
 * as the spinner's, so only its widths are used.
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

/** An empty variable counts as unset, as everywhere in this tool. */
export function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? "") !== "";
}
