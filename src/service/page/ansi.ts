/** A piece of a line in one look; `classes` are those of run.css, empty for plain text. */
export interface StyledText {
  readonly text: string;
  readonly classes: string;
}

interface Style {
  readonly foreground: number | undefined;
  readonly background: number | undefined;
  readonly effects: ReadonlySet<Effect>;
}

type Effect = "bold" | "dim" | "italic" | "underline" | "inverse";

const plain: Style = { foreground: undefined, background: undefined, effects: new Set() };

const esc = "\u001b";
/** Colours and their like, which are shown; every other thing that a terminal would obey, and control characters, go. */
const told = new RegExp(
  [
    `(?:${esc}\\[|\u009b)([0-9;:]*)m`,
    `(?:${esc}\\[|\u009b)[0-?]*[ -/]*[@-~]`,
    `${esc}[\\]PX^_][^\u0007${esc}]*(?:\u0007|${esc}\\\\)?`,
    `${esc}[ -/]*[0-~]?`,
    "(?!\\t)\\p{Cc}",
  ].join("|"),
  "gu",
);

/** A line of a program's output as pieces of text with classes; what would only move a terminal's cursor is left out. */
export function readAnsi(line: string): StyledText[] {
  const pieces: StyledText[] = [];
  let style = plain;
  let from = 0;
  const add = (text: string) => {
    if (text === "") return;
    const classes = classesOf(style);
    const last = pieces.at(-1);
    if (last?.classes === classes) pieces[pieces.length - 1] = { text: last.text + text, classes };
    else pieces.push({ text, classes });
  };
  for (const match of line.matchAll(told)) {
    add(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) style = restyled(style, match[1]);
  }
  add(line.slice(from));
  return pieces;
}

/** The same without any look. */
export function withoutAnsi(line: string): string {
  return line.replace(told, "");
}

function restyled(before: Style, parameters: string): Style {
  let style = before;
  const codes = parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, length } = extendedColour(codes.slice(at + 1));
      style = code === 38 ? { ...style, foreground: colour } : { ...style, background: colour };
      at += length;
    } else style = withCode(style, code);
  }
  return style;
}

function withCode(style: Style, code: number): Style {
  if (code === 0) return plain;
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

const effectsBegun: Readonly<Record<number, Effect>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
};

const effectsEnded: Readonly<Record<number, readonly Effect[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
};

/** One of 256 or of 16 million colours, by the nearest of the 16 that have a class. */
function extendedColour(codes: readonly number[]): {
  readonly colour: number | undefined;
  readonly length: number;
} {
  const [kind, first = 0, second = 0, third = 0] = codes;
  if (kind === 5) return { colour: first < 16 ? first : nearest(...ofPalette(first)), length: 2 };
  if (kind === 2) return { colour: nearest(first, second, third), length: 4 };
  return { colour: undefined, length: codes.length };
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

/** One bit for red, green and blue each, as the 8 colours are numbered; 8 more when it is bright. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 40) return most < 64 ? 0 : most < 140 ? 8 : most < 220 ? 7 : 15;
  const bit = (part: number, value: number) => (part > most / 2 ? value : 0);
  return bit(red, 1) + bit(green, 2) + bit(blue, 4) + (most > 200 ? 8 : 0);
}

function classesOf({ foreground, background, effects }: Style): string {
  const names: string[] = [...effects].map((effect) => `ansi-${effect}`);
  if (foreground !== undefined) names.push(`ansi-${foreground}`);
  if (background !== undefined) names.push(`ansi-on-${background}`);
  return names.join(" ");
}
