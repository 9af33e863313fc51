import type { SqlStep } from "../../../pipeline/sql/sqlStep.ts";
import { describeMismatches, showValue } from "../jsonMismatches.ts";
import type { Mask } from "../mask.ts";
import { mostText, type ReadRows } from "./rowReader.ts";

/** How many rows a message shows of those that came. */
const shownRows = 3;

/** In what the rows are not as expected, a line each; none when they are. */
export function judgeRows(expect: SqlStep["expect"], read: ReadRows, mask: Mask): readonly string[] {
  return [...judgeCount(expect, read), ...judgeValues(expect, read, mask)];
}

function judgeCount({ rowCount }: SqlStep["expect"], { count }: ReadRows): readonly string[] {
  return rowCount === undefined || rowCount === count
    ? []
    : [`row-count: expected ${rowCount}, got ${count}`];
}

function judgeValues({ rows: expected }: SqlStep["expect"], read: ReadRows, mask: Mask): readonly string[] {
  if (expected === undefined) return [];
  const rows = read.rows.slice(0, Math.max(expected.length, shownRows)).map(parsed);
  if (expected.length !== read.returned) {
    const more = read.returned > shownRows ? `, and ${read.returned - shownRows} more` : "";
    const shown = rows.slice(0, shownRows).map((row) => `\n${showValue(row, mask)}`);
    return [
      `rows: expected ${expected.length}, got ${read.returned}${shown.length === 0 ? "" : `:${shown.join("")}${more}`}`,
    ];
  }
  if (rows.length < expected.length) {
    return [`rows: they hold more than ${mostText / 1024 / 1024} MiB, the most that is compared`];
  }
  return describeMismatches(expected, rows, mask);
}

function parsed(row: string): unknown {
  return JSON.parse(row);
}
