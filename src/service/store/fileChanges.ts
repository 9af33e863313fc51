import { createTwoFilesPatch, OMIT_HEADERS } from "diff";
import type { RanPipeline } from "../../contract/run.ts";

/** The most changed lines, of all files together: texts that differ more share little, and take long to compare. */
const mostChangedLines = 1_000;

/** The unified difference of each file that differs, by its path. */
export function fileChanges(
  before: RanPipeline["texts"],
  after: RanPipeline["texts"],
): Record<string, string> {
  const changes: [path: string, lines: string][] = [];
  let left = mostChangedLines;
  for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old = "", now = ""] = [before, after].map((texts) =>
      Object.hasOwn(texts, path) ? texts[path] : "",
    );
    if (old === now) continue;
    const lines = left > 0 ? unified(old, now, left) : undefined;
    // A comparison that was given up has also cost all that was left.
    left -= lines?.match(/^[+-]/gm)?.length ?? left;
    changes.push([path, lines ?? `more than ${mostChangedLines} lines differ in all`]);
  }
  return Object.fromEntries(changes);
}

function unified(before: string, after: string, mostLines: number): string | undefined {
  const lines = createTwoFilesPatch("", "", before, after, "", "", {
    context: 2,
    maxEditLength: mostLines,
    headerOptions: OMIT_HEADERS,
  });
  return lines?.replace(/\n$/, "");
}
