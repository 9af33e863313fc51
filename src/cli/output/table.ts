import type { Terminal } from "../terminal/terminal.ts";
import { widthOf } from "../terminal/terminal.ts";

export interface TableLayout {
  /** How wide a line may be; as wide as it gets when left out. */
  readonly columns?: number;
  /** The number of the column that is cut, from 0, where the lines are wider. */
  readonly cut?: number;
  /** Where something was cut. */
  readonly ellipsis?: string;
}

/** A column that is cut keeps so much, however narrow the terminal is. */
const leastWidth = 8;
const gap = 2;

/** Rows for whoever reads them: columns on a terminal, else facts apart by tabs, since a name may hold spaces. */
export function rowsFor(
  { isTerminal }: Pick<Terminal, "isTerminal">,
  rows: readonly (readonly string[])[],
): string {
  return isTerminal ? table(rows) : rows.map((cells) => cells.join("\t")).join("\n");
}

/** Rows as columns of equal width, for people; scripts read `--json`. Colours count for nothing, wide letters as two. */
export function table(rows: readonly (readonly string[])[], layout: TableLayout = {}): string {
  const { columns = Number.POSITIVE_INFINITY, cut, ellipsis = "…" } = layout;
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => widthOf(cells[column] ?? ""))),
  );
  const whole = widths.reduce((sum, width) => sum + width + gap, -gap);
  const widest = cut === undefined ? undefined : widths[cut];
  if (cut !== undefined && widest !== undefined && whole > columns) {
    widths[cut] = Math.min(widest, Math.max(leastWidth, widest - (whole - columns)));
  }
  return rows
    .map((cells) =>
      cells.map((cell, column) => fitted(cell, widths[column] ?? 0, ellipsis)).join(" ".repeat(gap)),
    )
    .map((line) => line.trimEnd())
    .join("\n");
}

/** The text at exactly this width: filled up, or cut where it is wider. */
function fitted(text: string, width: number, ellipsis: string): string {
  const own = widthOf(text);
  if (own <= width) return text + " ".repeat(width - own);
  const shown = `${cutTo(text, width - widthOf(ellipsis))}${ellipsis}`;
  return shown + " ".repeat(Math.max(0, width - widthOf(shown)));
}

function cutTo(text: string, width: number): string {
  let shown = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    shown += segment;
  }
  return shown;
}
