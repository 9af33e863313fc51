import { visible } from "../contract/visible.ts";
import type { Place } from "../pipeline/problemList.ts";
import type { Terminal } from "./terminal.ts";
import { widthOf } from "./width.ts";

/**
 * The line that a problem is in, and a caret below the column that it begins at: as the terminal shows it, with tabs
 * and wide characters, cut to the terminal's width around the caret.
 * @returns the lines to print; none for an empty line.
 */
export function codeFrame(text: string, { line, column }: Place, terminal: Terminal): string[] {
  // Editors don't count a byte-order mark as a column.
  const source = text.replace(/^\uFEFF/, "").split("\n")[line - 1] ?? "";
  if (source.trim() === "") return [];
  const { style, columns, hasUnicode } = terminal;
  const number = String(line);
  const gutter = `${number} | `;
  const room = Math.max(least, columns - gutter.length - 1);
  const { shown, caretAt } = cut(cellsOf(source, column), room, hasUnicode ? "…" : "~");
  return [
    `${style.dim(gutter)}${shown}`,
    `${style.dim(`${" ".repeat(number.length)} | `)}${" ".repeat(caretAt)}${style.bad("^")}`,
  ];
}

/** A line in a narrower window would tell nothing. */
const least = 20;
const tabWidth = 4;
/** More of a line than any terminal shows, and little enough to be taken apart for each of a hundred problems. */
const mostLooked = 1000;

interface Cells {
  readonly cells: readonly { readonly shown: string; readonly width: number }[];
  /** The cell that the caret points at; the number of cells when it points behind the last one. */
  readonly index: number;
}

/** The characters of a line, as people count them. @param column counts UTF-16 units from 1. */
function cellsOf(source: string, column: number): Cells {
  const from = Math.max(0, column - 1 - mostLooked);
  const part = source.replace(/\r$/, "").slice(from, column - 1 + mostLooked);
  const cells: { shown: string; width: number }[] = [];
  let at = 0;
  let index: number | undefined;
  for (const { segment, index: start } of new Intl.Segmenter().segment(part)) {
    if (start + segment.length >= column - from) index ??= cells.length;
    const shown = segment === "\t" ? " ".repeat(tabWidth - (at % tabWidth)) : visible(segment);
    const width = widthOf(shown);
    cells.push({ shown, width });
    at += width;
  }
  return { cells, index: index ?? cells.length };
}

/** As much of the line around the caret as there is room for, with a mark where something was left out. */
function cut({ cells, index }: Cells, room: number, mark: string): { shown: string; caretAt: number } {
  const width = (from: number, to: number) =>
    cells.slice(from, to).reduce((sum, cell) => sum + cell.width, 0);
  let [from, to] = [0, cells.length];
  if (width(0, cells.length) > room) {
    const before = Math.floor(room / 2);
    from = index;
    while (from > 0 && width(from - 1, index) <= before) from -= 1;
    // A line that goes on only a little behind the caret leaves its room to what is before it.
    while (from > 0 && width(from - 1, cells.length) < room) from -= 1;
    to = Math.max(index, from);
    while (to < cells.length && width(from, to + 1) <= room - 2) to += 1;
  }
  const head = from > 0 ? mark : "";
  const tail = to < cells.length ? mark : "";
  const shown = cells
    .slice(from, to)
    .map((cell) => cell.shown)
    .join("");
  return { shown: `${head}${shown}${tail}`, caretAt: head.length + width(from, index) };
}
