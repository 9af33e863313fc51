import { parseSgr, type SgrStyle } from "../../contract/escapeSequences.ts";
import type { LogEntry } from "../../contract/log.ts";

/** One line of a step's log as a person reads it. */
export interface PageLine {
  /** The same for the same line, also when the line has grown. */
  readonly id: string;
  readonly stepIndex: number;
  readonly stream: string;
  readonly text: string;
}

/** What is longer is cut, in characters: a line of a megabyte helps nobody. */
const longestLine = 2_000;

/**
 * The lines that a log's entries make. An entry is a piece of a stream, so that a line may lie in several of them; it
 * stands where its first piece came.
 */
export function linesOf(entries: readonly LogEntry[]): PageLine[] {
  const lines: { id: string; stepIndex: number; stream: string; text: string }[] = [];
  const unfinished = new Map<string, (typeof lines)[number]>();
  for (const { sequence, stepIndex, stream, text } of entries) {
    const of = `${stepIndex} ${stream}`;
    const pieces = text.split("\n");
    for (const [part, piece] of pieces.entries()) {
      if (part > 0) unfinished.delete(of);
      const open = unfinished.get(of);
      const isAfterLast = part === pieces.length - 1 && piece === "";
      if (open !== undefined) open.text += piece;
      else if (!isAfterLast) {
        const line = { id: `line-${sequence}-${part}`, stepIndex, stream, text: piece };
        lines.push(line);
        unfinished.set(of, line);
      }
    }
  }
  return lines.map((line) => ({ ...line, text: asLastWritten(line.text) }));
}

/** A carriage return goes back to the line's beginning, as a progress bar does: the last that was written stays. */
function asLastWritten(text: string): string {
  const shown = text.replace(/\r+$/, "");
  const last = shown.slice(shown.lastIndexOf("\r") + 1);
  return last.length > longestLine ? `${last.slice(0, longestLine)}…` : last;
}

/** A piece of a line in one look; `classes` are those of ansi.css, empty for plain text. */
export interface StyledText {
  readonly text: string;
  readonly classes: string;
}

/** A line of a program's output as pieces of text with classes; what would only move a terminal's cursor is left out. */
export function styledTexts(line: string): StyledText[] {
  return parseSgr(line).pieces.map(({ text, style }) => ({ text, classes: classesOf(style) }));
}

function classesOf({ foreground, background, effects }: SgrStyle): string {
  const names: string[] = [...effects].map((effect) => `ansi-${effect}`);
  if (foreground !== undefined) names.push(`ansi-${foreground}`);
  if (background !== undefined) names.push(`ansi-on-${background}`);
  return names.join(" ");
}
