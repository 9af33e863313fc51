import { styleText } from "node:util";
import truncatedWidth from "fast-string-truncated-width";
import type { Environment } from "../../client/environment.ts";

/** What the tool needs to know of a stream that it writes to. */
export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether more was written than its reader has taken, which a `drain` tells the end of. */
  readonly writableNeedDrain?: boolean;
  once?(event: "drain", listener: () => void): unknown;
}

export interface TerminalFlags {
  /** False for `--no-color`. */
  readonly color: boolean;
  readonly quiet: boolean;
}

/** How a stream may be written to. */
export interface Terminal {
  readonly style: Style;
  /** Whether colours may be written, also those of others. */
  readonly hasColor: boolean;
  /** Whether a person reads it as it comes, and no file and no other program. */
  readonly isTerminal: boolean;
  /** Whether a line may be drawn over again: a spinner, the seconds that are left. Otherwise lines only follow lines. */
  readonly isLive: boolean;
  /** Whether marks beyond ASCII show as they should. */
  readonly hasUnicode: boolean;
  /** The width of a line that is drawn over, so that it never wraps. */
  readonly columns: number;
  /** How many lines fit on the screen. */
  readonly rows: number;
}

/**
 * Colours need a terminal that isn't a dumb one, and nobody who declines them: `--no-color` and `NO_COLOR` (of any
 * value but an empty one) decline, and `FORCE_COLOR` asks for them where there is no terminal, as in a CI's log. Only a
 * terminal with a person before it is drawn over: not a dumb one, not in CI, not with `--quiet`.
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
    style: hasColor ? styleOf() : plainStyle,
    hasColor,
    isTerminal: stream.isTTY === true,
    isLive: isTerminal && !isSet(env, "CI") && !flags.quiet,
    hasUnicode: hasUnicode(env, platform),
    // A terminal may be resized at any time, and some that are none of a person's say 0.
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

/** The old Windows console shows boxes; its successors and other terminals name themselves. Elsewhere the locale says. */
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

/** What a text means, as a terminal shows it. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  readonly caution: Paint;
}

const unchanged: Paint = (text) => text;

export const plainStyle: Style = {
  bold: unchanged,
  dim: unchanged,
  good: unchanged,
  bad: unchanged,
  caution: unchanged,
};

/** Colours from the terminal's own sixteen, which people set to what they can read. */
function styleOf(): Style {
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      text === "" ? "" : styleText(format, text, { validateStream: false });
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    caution: paint("yellow"),
  };
}

/** How many columns a text takes on a terminal: colours none, wide letters two. */
export function widthOf(text: string): number {
  return truncatedWidth(text).width;
}

/** Whether a variable is there with a value; an empty one counts as none, as everywhere in this tool. */
export function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? "") !== "";
}
