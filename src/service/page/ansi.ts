import { type AnsiStyle, readAnsi } from "../../contract/ansi.ts";

/** A piece of a line in one look; `classes` are those of ansi.css, empty for plain text. */
export interface StyledText {
  readonly text: string;
  readonly classes: string;
}

/** A line of a program's output as pieces of text with classes; what would only move a terminal's cursor is left out. */
export function styledTexts(line: string): StyledText[] {
  return readAnsi(line).pieces.map(({ text, style }) => ({ text, classes: classesOf(style) }));
}

function classesOf({ foreground, background, effects }: AnsiStyle): string {
  const names: string[] = [...effects].map((effect) => `ansi-${effect}`);
  if (foreground !== undefined) names.push(`ansi-${foreground}`);
  if (background !== undefined) names.push(`ansi-on-${background}`);
  return names.join(" ");
}
