import { cut, type Terminal, widthOf } from "../terminal/terminal.ts";

export interface TableLayout {
  /** The maximum width of a line; default: unlimited. */
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
    .map((cells) =>
      cells.map((cell, column) => fitted(cell, widths[column] ?? 0, ellipsis)).join(" ".repeat(gap)),
    )
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Pads or cuts a text to exactly this width. */
function fitted(text: string, columns: number, ellipsis: string): string {
  const shown = cut(text, columns, ellipsis);
  return shown.text + " ".repeat(columns - shown.width);
}
