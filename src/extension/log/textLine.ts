import type { AnsiStyle } from "../../contract/ansi.ts";
import type { PlaceLink } from "./placeLinks.ts";

/** A line of the document that shows a log. Columns count UTF-16 units from 0, as the editor does. */
export interface TextLine {
  readonly text: string;
  readonly looks: readonly Look[];
  readonly links: readonly TextLink[];
  /** Which stream of a step wrote it; undefined for what we say ourselves. */
  readonly stream?: string;
}

export interface Look {
  readonly start: number;
  readonly end: number;
  readonly style: AnsiStyle;
}

type TextLink = PlaceLink | KeptLink;

/** Leads to something that a step kept, by the path of its URI. */
interface KeptLink {
  readonly kind: "kept";
  readonly start: number;
  readonly end: number;
  readonly path: string;
}

export const none: readonly never[] = [];

/** A line of our own: pieces in one look each. */
export function ownLine(
  ...pieces: readonly (string | { readonly text: string; readonly style: AnsiStyle })[]
): TextLine {
  const looks: Look[] = [];
  let text = "";
  for (const piece of pieces) {
    const start = text.length;
    text += typeof piece === "string" ? piece : piece.text;
    if (typeof piece !== "string" && piece.text !== "")
      looks.push({ start, end: text.length, style: piece.style });
  }
  return { text, looks, links: none };
}

/** The same line, further to the right. */
export function indented(line: TextLine, by: string): TextLine {
  const moved = <T extends { readonly start: number; readonly end: number }>(range: T): T => ({
    ...range,
    start: range.start + by.length,
    end: range.end + by.length,
  });
  return { ...line, text: by + line.text, looks: line.looks.map(moved), links: line.links.map(moved) };
}

const style = (foreground: number | undefined, ...effects: ("bold" | "dim")[]): AnsiStyle => ({
  foreground,
  background: undefined,
  effects: new Set(effects),
});

/** The looks of what we say ourselves. */
export const looks = {
  strong: style(undefined, "bold"),
  quiet: style(undefined, "dim"),
  good: style(2, "bold"),
  bad: style(1, "bold"),
  busy: style(4, "bold"),
  ended: style(3, "bold"),
} as const;
