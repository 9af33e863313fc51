import { controlCharacters } from "./controlCharacters.ts";

/** The style that SGR sequences give a text. Colours are numbers of the terminal's palette, 0 to 15. */
export interface SgrStyle {
  readonly foreground: number | undefined;
  readonly background: number | undefined;
  readonly effects: ReadonlySet<SgrEffect>;
}

type SgrEffect = "bold" | "dim" | "italic" | "underline" | "inverse";

export interface StyledText {
  readonly text: string;
  readonly style: SgrStyle;
}

export const defaultStyle: SgrStyle = { foreground: undefined, background: undefined, effects: new Set() };

const esc = "\u001b";

/** Every escape sequence, and every control character except tab; the first group holds an SGR sequence's parameters. */
export const escapeSequences = new RegExp(
  [
    `(?:${esc}\\[|\u009b)([0-9;:]{0,40})m`,
    `(?:${esc}\\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${esc}[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u009c${esc}]*(?:\u0007|\u009c|${esc}\\\\)?`,
    `${esc}[ -/]*[0-~]?`,
    `(?!\\t)[${controlCharacters}]`,
  ].join("|"),
  "gu",
);

/**
 * Splits a line of a program's output into pieces of one style each. Drops all escape sequences except SGR and all control
 * characters except tab.
 * @param before the style in effect at the line's start.
 * @returns the pieces, and the style in effect at the line's end.
 */
export function parseSgr(
  line: string,
  before: SgrStyle = defaultStyle,
): { readonly pieces: readonly StyledText[]; readonly after: SgrStyle } {
  const pieces: StyledText[] = [];
  let style = before;
  let from = 0;
  const add = (text: string) => {
    if (text === "") return;
    const last = pieces.at(-1);
    if (last !== undefined && isSameStyle(last.style, style)) {
      pieces[pieces.length - 1] = { text: last.text + text, style };
    } else pieces.push({ text, style });
  };
  for (const match of line.matchAll(escapeSequences)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) style = withParameters(style, match[1]);
  }
  add(line.slice(from));
  return { pieces, after: style };
}

export function stripEscapeSequences(line: string): string {
  return line.replace(escapeSequences, "");
}

export function isSameStyle(one: SgrStyle, other: SgrStyle): boolean {
  return (
    one === other ||
    (one.foreground === other.foreground &&
      one.background === other.background &&
      one.effects.size === other.effects.size &&
      [...one.effects].every((effect) => other.effects.has(effect)))
  );
}

function withParameters(before: SgrStyle, parameters: string): SgrStyle {
  let style = before;
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { color, length } = extendedColor(codes.slice(at + 1));
      style = code === 38 ? { ...style, foreground: color } : { ...style, background: color };
      at += length;
    } else style = withCode(style, code);
  }
  return style;
}

function withCode(style: SgrStyle, code: number): SgrStyle {
  if (code === 0) return defaultStyle;
  if (code >= 30 && code <= 37) return { ...style, foreground: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, foreground: code - 82 };
  if (code === 39) return { ...style, foreground: undefined };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  if (code === 49) return { ...style, background: undefined };
  const begun = effectsBegun[code];
  if (begun !== undefined) return { ...style, effects: new Set([...style.effects, begun]) };
  const ended = effectsEnded[code];
  if (ended === undefined) return style;
  return { ...style, effects: new Set([...style.effects].filter((effect) => !ended.includes(effect))) };
}

const effectsBegun: Readonly<Record<number, SgrEffect>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
};

const effectsEnded: Readonly<Record<number, readonly SgrEffect[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
};

/** Maps a colour of 256 or of 16 million to the nearest of the 16 that every theme has. */
function extendedColor(codes: readonly number[]): {
  readonly color: number | undefined;
  readonly length: number;
} {
  const [kind, first = 0, second = 0, third = 0] = codes;
  if (kind === 5) return { color: first < 16 ? first : nearest(...ofPalette(first)), length: 2 };
  if (kind === 2) return { color: nearest(first, second, third), length: 4 };
  return { color: undefined, length: codes.length };
}

function ofPalette(index: number): [number, number, number] {
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return [grey, grey, grey];
  }
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const cube = index - 16;
  return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
}

/** A colour's number is made of bits: 1 red, 2 green, 4 blue, 8 bright. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 40) return most < 64 ? 0 : most < 140 ? 8 : most < 220 ? 7 : 15;
  const bit = (part: number, value: number) => (part > most / 2 ? value : 0);
  return bit(red, 1) + bit(green, 2) + bit(blue, 4) + (most > 200 ? 8 : 0);
}
